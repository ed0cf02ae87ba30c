(class_declaration name: (_) @name) @class
(variable_declarator name: (identifier) @name value: (class)) @class
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
(method_definition name: (_) @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression left: [(identifier) (member_expression)] @name right: [(arrow_function) (function_expression) (generator_function)]) @function
(pair key: (_) @name value: [(arrow_function) (function_expression) (generator_function)]) @function

(import_statement source: (string (string_fragment) @import))
(export_statement source: (string (string_fragment) @import))
(call_expression function: (import) arguments: (arguments (string (string_fragment) @import)))
((call_expression function: (identifier) @_require arguments: (arguments (string (string_fragment) @import)))
  (#eq? @_require "require"))

[
  (if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement)
  (switch_case) (catch_clause) (ternary_expression)
] @branch
(binary_expression operator: ["&&" "||" "??"]) @branch

(comment) @comment
