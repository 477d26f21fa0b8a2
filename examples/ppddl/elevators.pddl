; Two lifts bring people to their floors. The fast one takes more energy, and its doors may jam.
(define (domain two-lifts)
  (:requirements :strips :typing :fluents :probabilistic-effects :negative-preconditions)
  (:types lift floor person)
  (:predicates (next ?low ?high - floor) (lift-at ?lift - lift ?floor - floor) (at ?person - person ?floor - floor)
               (in ?person - person ?lift - lift))
  (:functions (seconds) (energy) (travel ?lift - lift) (power ?lift - lift))

  (:action up
    :parameters (?lift - lift ?from ?to - floor)
    :precondition (and (lift-at ?lift ?from) (next ?from ?to))
    :effect (and (lift-at ?lift ?to) (not (lift-at ?lift ?from))
                 (increase (seconds) (travel ?lift)) (increase (energy) (power ?lift))))

  (:action down
    :parameters (?lift - lift ?from ?to - floor)
    :precondition (and (lift-at ?lift ?from) (next ?to ?from))
    :effect (and (lift-at ?lift ?to) (not (lift-at ?lift ?from))
                 (increase (seconds) (travel ?lift)) (increase (energy) (/ (power ?lift) 4))))

  (:action enter
    :parameters (?person - person ?lift - lift ?floor - floor)
    :precondition (and (lift-at ?lift ?floor) (at ?person ?floor))
    :effect (and (increase (seconds) 3)
                 (probabilistic 0.9 (and (in ?person ?lift) (not (at ?person ?floor))))))

  (:action leave
    :parameters (?person - person ?lift - lift ?floor - floor)
    :precondition (and (lift-at ?lift ?floor) (in ?person ?lift))
    :effect (and (increase (seconds) 3)
                 (probabilistic 0.9 (and (at ?person ?floor) (not (in ?person ?lift)))))))
