(class_definition name: (_) @name) @class
(function_definition name: (_) @name) @function

(import_statement name: (dotted_name) @import)
(import_statement name: (aliased_import name: (_) @import))
(import_from_statement module_name: (_) @import)
(future_import_statement "__future__" @import)

[
  (if_statement) (elif_clause) (for_statement) (while_statement) (except_clause)
  (conditional_expression) (boolean_operator) (for_in_clause) (if_clause)
] @branch
((case_clause (case_pattern) @_pattern) @branch (#not-eq? @_pattern "_"))

(comment) @comment
