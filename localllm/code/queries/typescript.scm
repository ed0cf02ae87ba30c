(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(enum_declaration name: (_) @name) @enum
(type_alias_declaration name: (_) @name) @type
(internal_module name: (_) @name) @namespace
(module name: (_) @name) @namespace
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @function
(import_require_clause source: (string (string_fragment) @import))
