/** Returns a text that is equal for all spellings of a name, also with spaces and dots: `sourceid`. */
export function lettersAndDigits(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

function singular(word: string): string {
  if (/(?:ss|us|is)$/.test(word) || word.length < 4) return word;
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.endsWith('s') ? word.slice(0, -1) : word;
}

/** Splits a name into its words in the singular: `listCronJobs` gives list, cron, job. */
export function singularWords(name: string): readonly string[] {
  return name
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .map(singular);
}

/** Joins the words of a name in the singular: `cron_jobs`, `CronJob`, and `cron-jobs` all give `cronjob`. */
export function singularName(name: string): string {
  return singularWords(name).join('');
}
