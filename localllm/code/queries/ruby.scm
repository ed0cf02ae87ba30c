(class name: (_) @name) @class
(module name: (_) @name) @module
(method name: (_) @name) @function
(singleton_method name: (_) @name) @function

((call method: (identifier) @_require arguments: (argument_list (string (string_content) @import)))
  (#match? @_require "^(require|require_relative|load)$"))

[
  (if) (elsif) (unless) (while) (until) (for) (when) (in_clause) (rescue) (conditional)
  (if_modifier) (unless_modifier) (while_modifier) (until_modifier) (rescue_modifier)
] @branch
(binary operator: ["&&" "||" "and" "or"]) @branch

(comment) @comment
