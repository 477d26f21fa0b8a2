; A drone looks for a person in zones, lands where the ground allows it, and brings the person home.
(define (domain search-and-rescue)
  (:requirements :strips :typing :fluents :probabilistic-effects :negative-preconditions :conditional-effects)
  (:types zone)
  (:constants base - zone)
  (:predicates (near ?a ?b - zone) (at ?zone - zone) (searched ?zone - zone) (found-at ?zone - zone) (found)
               (landed) (aboard) (rough ?zone - zone) (safe))
  (:functions (minutes) (danger) (flight ?a ?b - zone))

  (:action fly
    :parameters (?from ?to - zone)
    :precondition (and (at ?from) (near ?from ?to) (not (landed)))
    :effect (and (at ?to) (not (at ?from)) (increase (minutes) (flight ?from ?to))))

  (:action search-low
    :parameters (?zone - zone)
    :precondition (and (at ?zone) (not (found)) (not (landed)) (not (= ?zone base)))
    :effect (and (increase (minutes) 4) (increase (danger) 0.05)
                 (when (rough ?zone) (increase (danger) 0.1))
                 (probabilistic 0.5 (and (found) (found-at ?zone)))))

  (:action search-high
    :parameters (?zone - zone)
    :precondition (and (at ?zone) (not (found)) (not (landed)) (not (= ?zone base)))
    :effect (and (increase (minutes) 4) (probabilistic 0.2 (and (found) (found-at ?zone)))))

  (:action land
    :parameters (?zone - zone)
    :precondition (and (at ?zone) (found-at ?zone) (not (landed)))
    :effect (and (increase (minutes) 1)
                 (when (rough ?zone) (and (increase (danger) 0.2) (probabilistic 0.6 (landed))))
                 (when (not (rough ?zone)) (landed))))

  (:action take-aboard
    :parameters (?zone - zone)
    :precondition (and (at ?zone) (landed) (found-at ?zone))
    :effect (and (aboard) (not (landed)) (not (found-at ?zone)) (increase (minutes) 2)))

  (:action hand-over
    :parameters ()
    :precondition (and (at base) (aboard))
    :effect (and (safe) (not (aboard)) (increase (minutes) 1))))
