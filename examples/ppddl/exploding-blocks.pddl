; Blocks that explode once when they are put down hard, and destroy what they are put on.
(define (domain exploding-blocks)
  (:requirements :strips :typing :fluents :probabilistic-effects :negative-preconditions)
  (:types block)
  (:predicates (on ?x ?y - block) (on-table ?x - block) (clear ?x - block) (holding ?x - block) (hand-empty)
               (armed ?x - block) (destroyed ?x - block) (table-destroyed))
  (:functions (seconds) (bangs))

  (:action take
    :parameters (?x ?y - block)
    :precondition (and (hand-empty) (clear ?x) (on ?x ?y) (not (destroyed ?x)))
    :effect (and (holding ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (hand-empty)) (increase (seconds) 2)))

  (:action lift
    :parameters (?x - block)
    :precondition (and (hand-empty) (clear ?x) (on-table ?x) (not (destroyed ?x)))
    :effect (and (holding ?x) (not (on-table ?x)) (not (clear ?x)) (not (hand-empty)) (increase (seconds) 2)))

  (:action put-down
    :parameters (?x - block)
    :precondition (and (holding ?x) (not (table-destroyed)))
    :effect (and (on-table ?x) (clear ?x) (hand-empty) (not (holding ?x)) (increase (seconds) 2)
                 (when (armed ?x)
                   (probabilistic 0.4 (and (not (armed ?x)) (table-destroyed) (increase (bangs) 1))))))

  (:action stack
    :parameters (?x ?y - block)
    :precondition (and (holding ?x) (clear ?y) (not (destroyed ?y)))
    :effect (and (on ?x ?y) (clear ?x) (hand-empty) (not (holding ?x)) (not (clear ?y)) (increase (seconds) 2)
                 (when (armed ?x)
                   (probabilistic 0.1 (and (not (armed ?x)) (destroyed ?y) (increase (bangs) 1))))))

  (:action disarm
    :parameters (?x - block)
    :precondition (and (holding ?x) (armed ?x))
    :effect (and (increase (seconds) 20) (probabilistic 0.5 (not (armed ?x))))))
