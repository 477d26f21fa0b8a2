; Blocks on a table. A quick hand is faster and may let a block slip, which scratches it.
(define (domain scratched-blocks)
  (:requirements :strips :typing :equality :fluents :probabilistic-effects)
  (:types block)
  (:predicates (on ?x ?y - block) (on-table ?x - block) (clear ?x - block) (holding ?x - block) (hand-empty))
  (:functions (seconds) (scratches))

  (:action take-carefully
    :parameters (?x ?y - block)
    :precondition (and (hand-empty) (clear ?x) (on ?x ?y))
    :effect (and (holding ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (hand-empty))
                 (increase (seconds) 6)))

  (:action take-quickly
    :parameters (?x ?y - block)
    :precondition (and (hand-empty) (clear ?x) (on ?x ?y))
    :effect (and (increase (seconds) 2) (clear ?y) (not (on ?x ?y))
                 (probabilistic
                   3/4 (and (holding ?x) (not (clear ?x)) (not (hand-empty)))
                   1/4 (and (on-table ?x) (increase (scratches) 1)))))

  (:action lift
    :parameters (?x - block)
    :precondition (and (hand-empty) (clear ?x) (on-table ?x))
    :effect (and (holding ?x) (not (on-table ?x)) (not (clear ?x)) (not (hand-empty)) (increase (seconds) 2)))

  (:action put-down
    :parameters (?x - block)
    :precondition (holding ?x)
    :effect (and (on-table ?x) (clear ?x) (hand-empty) (not (holding ?x)) (increase (seconds) 2)))

  (:action stack-carefully
    :parameters (?x ?y - block)
    :precondition (and (holding ?x) (clear ?y))
    :effect (and (on ?x ?y) (clear ?x) (hand-empty) (not (holding ?x)) (not (clear ?y)) (increase (seconds) 6)))

  (:action stack-quickly
    :parameters (?x ?y - block)
    :precondition (and (holding ?x) (clear ?y))
    :effect (and (increase (seconds) 2) (clear ?x) (hand-empty) (not (holding ?x))
                 (probabilistic
                   0.8 (and (on ?x ?y) (not (clear ?y)))
                   0.2 (and (on-table ?x) (increase (scratches) 1))))))
