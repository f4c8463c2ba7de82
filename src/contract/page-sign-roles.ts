/** The meaning of a number in paging information. */
export type NumberRole = 'more' | 'next' | 'total' | 'size' | 'page-total' | 'page' | 'offset' | 'token';

/** Words in names that are not about the next page. */
const IGNORED =
  /^(prev|previous|backward|before|first|self|sync|delta|rate|ratelimit|retry|access|refresh|csrf|xsrf|auth|bearer|expires|query)$/;
const SKIPPED_CONTAINER =
  /^(errors?|warnings?|facets?|aggregations?|aggs|filters?|shards|rate|ratelimit|quotas?|usage|included|schema|debug|timing|request|context)$/;
const ENVELOPE =
  /^(meta|metadata|info|header|headers|response|result|results|payload|body|data|links?|embedded|collection|envelope|extra|extensions)$/;
const TIME = /^(at|end|date|time|run|runs|reset|poll|refresh|interval|ms|seconds|secs|minutes|billing|check)$/;
const NEXT_WORDS = /^(next|more|continue|continuation|continues)$/;
const NEXT_PAGE_NAMES =
  /^(next|more|continue|continuation|continues|cursors?|token|marker|bookmark|scroll|resumption)$/;
const SAYS_MORE = /^(next|more|continue|continuation|continues|truncated|incomplete|partial|exceeded|older|newer)$/;
const SAYS_END = /^(last|done|complete|completed|finished|exhausted|end|final)$/;
const LINK = /^(https?:\/\/|\/|\?|\.{1,2}\/|[\w$.~%/-]*\?[\w$.~%[\]-]+=)/i;
const ISO_DATE = /^\d{4}-\d\d-\d\d([T ]|$)/;
const TOKEN = /^(cursor|token|marker|bookmark|scroll|resumption|after|offset|skip|position|end)$/;
const TOTAL = /^(total|totals|count|found|overall)$/;
const LAST_OF = /^(id|key|cursor|token|item|record|row|index)$/;

export type Words = readonly string[];

const some = (words: Words, pattern: RegExp): boolean => words.some((word) => pattern.test(word));
const includes = (words: Words, ...given: string[]): boolean => given.some((word) => words.includes(word));

const DIRECTION = /^(prev|previous|backward|before|first|self)$/;

/** Whether a name is not about the next page. An object is ignored only for a direction, or if its name is one word. */
export function isIgnored(words: Words, isContainer: boolean): boolean {
  return isContainer ? some(words, DIRECTION) || (words.length === 1 && some(words, IGNORED)) : some(words, IGNORED);
}

/** Whether an object with this name is never searched for paging information. */
export const isSkippedContainer = (words: Words): boolean => some(words, SKIPPED_CONTAINER);
/** Whether an object with this name may contain paging information. */
export const isEnvelope = (words: Words): boolean => some(words, ENVELOPE);
/** Whether a name says by itself that there is more: `next`, `continuation_token`. */
export const announcesNext = (words: Words): boolean => some(words, NEXT_WORDS);
/** Whether a name may be that of the next page: also `cursor`, `marker`. */
export const namesNextPage = (words: Words): boolean => some(words, NEXT_PAGE_NAMES);
/** Whether a name is that of a time or a duration. */
export const isTime = (words: Words): boolean => some(words, TIME);

/** Whether a text has the form of a link: a URL, a path, or a query. */
export function isLinkText(text: string): boolean {
  return LINK.test(text);
}

/** Whether a text begins with an ISO 8601 date. */
export function isDate(text: string): boolean {
  return ISO_DATE.test(text);
}

/** Returns true if a flag with this name announces more, and false if it marks the end. */
export function roleOfFlag(words: Words): boolean | undefined {
  if (some(words, SAYS_MORE)) return true;
  return some(words, SAYS_END) ? false : undefined;
}

/** Returns the direction that a flag such as `has_older` or `has_newer` is about, if it is about one. */
export function directionOfFlag(words: Words): 'older' | 'newer' | undefined {
  if (words.includes('older')) return 'older';
  return words.includes('newer') ? 'newer' : undefined;
}

/** Whether a text with this name, if it is not a link, is the token of the next page. */
export function isTokenName(words: Words): boolean {
  if (announcesNext(words)) return true;
  const isStart = includes(words, 'start', 'current') && !includes(words, 'token');
  const isLast = includes(words, 'last') && some(words, LAST_OF);
  return !isStart && (some(words, TOKEN) || isLast);
}

/** Whether a name is that of a number of items, not of pages: `total`, `count`, `page.totalElements`. */
function isTotal(words: Words): boolean {
  if (!some(words, TOTAL) || includes(words, 'pages', 'skip', 'offset', 'ms')) return false;
  return !includes(words, 'page') || (words.length > 2 && !includes(words, 'size', 'limit', 'number', 'last'));
}

/** Returns the meaning of a number. @param isKnown whether the name consists of paging words only */
export function roleOfNumber(words: Words, isKnown: boolean): NumberRole | undefined {
  if (!isKnown && isTime(words)) return undefined;
  if (words.at(-1) === 'more' || includes(words, 'truncated', 'incomplete', 'remaining')) {
    return isKnown && !includes(words, 'limit') ? 'more' : undefined;
  }
  if (announcesNext(words)) return 'next';
  if (isTotal(words)) return 'total';
  if (!isKnown) return undefined;
  if (includes(words, 'size', 'limit', 'per', 'top', 'take', 'max') && !includes(words, 'pages')) return 'size';
  if (includes(words, 'pages') || (includes(words, 'page') && includes(words, 'total', 'count', 'last'))) {
    return 'page-total';
  }
  return roleOfPosition(words);
}

function roleOfPosition(words: Words): NumberRole | undefined {
  if (includes(words, 'last')) return some(words, LAST_OF) ? 'token' : 'page-total';
  if (includes(words, 'cursor', 'token', 'marker', 'bookmark', 'after') && !includes(words, 'start')) return 'token';
  if (includes(words, 'page') || words.join() === 'current' || words.join() === 'number') return 'page';
  return includes(words, 'offset', 'skip', 'start') || words.join() === 'from' ? 'offset' : undefined;
}

/** Adds words of the parent if the name alone is ambiguous: `page.number`, `next.cursor`, `total.value`. */
export function withParent(own: Words, parent: Words): Words {
  const last = parent.at(-1);
  if (last === 'next' && !own.includes('next')) return ['next', ...own];
  if (last === 'page' || last === 'pages') return own.includes('page') ? own : ['page', ...own];
  if (last === 'total' && includes(own, 'value', 'count')) return ['total'];
  if ((last === 'cursor' || last === 'cursors') && own.join() === 'next') return ['next', 'cursor'];
  return own;
}
