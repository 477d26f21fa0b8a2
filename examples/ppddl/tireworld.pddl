; A car drives along roads, each of which may cost it a tyre; spares lie in some places only.
(define (domain flat-tyres)
  (:requirements :strips :typing :fluents :probabilistic-effects :negative-preconditions)
  (:types place)
  (:predicates (road ?from ?to - place) (at ?place - place) (spare-at ?place - place) (spare-aboard) (flat))
  (:functions (minutes) (flats) (length ?from ?to - place))

  (:action drive
    :parameters (?from ?to - place)
    :precondition (and (at ?from) (road ?from ?to) (not (flat)))
    :effect (and (at ?to) (not (at ?from)) (increase (minutes) (length ?from ?to))
                 (probabilistic 0.3 (and (flat) (increase (flats) 1)))))

  (:action crawl
    :parameters (?from ?to - place)
    :precondition (and (at ?from) (road ?from ?to) (not (flat)))
    :effect (and (at ?to) (not (at ?from)) (increase (minutes) (* 3 (length ?from ?to)))
                 (probabilistic 0.05 (and (flat) (increase (flats) 1)))))

  (:action load
    :parameters (?place - place)
    :precondition (and (at ?place) (spare-at ?place) (not (spare-aboard)))
    :effect (and (spare-aboard) (not (spare-at ?place)) (increase (minutes) 5)))

  (:action change-tyre
    :parameters ()
    :precondition (and (flat) (spare-aboard))
    :effect (and (not (flat)) (not (spare-aboard)) (increase (minutes) 20))))
