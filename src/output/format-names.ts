export const OUTPUT_FORMATS = ['table', 'json', 'ndjson', 'yaml', 'tsv'] as const;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];
