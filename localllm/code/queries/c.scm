(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name))) @function
(function_definition
  declarator: (pointer_declarator
    declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))) @function
(struct_specifier name: (_) @name body: (_)) @struct
(union_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition type: (struct_specifier !name) declarator: (_) @name) @struct
(type_definition type: (union_specifier !name) declarator: (_) @name) @struct
(type_definition type: (enum_specifier !name) declarator: (_) @name) @enum
(preproc_function_def name: (_) @name) @macro

(preproc_include path: (_) @import)

[(if_statement) (for_statement) (while_statement) (do_statement) (conditional_expression)] @branch
(case_statement "case") @branch
(binary_expression operator: ["&&" "||"]) @branch

(comment) @comment
