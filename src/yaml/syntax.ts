import type { ErrorCode } from 'yaml';
import { shown } from './shown.ts';

export interface Wording {
  readonly message: string;
  readonly hint?: string;
}

interface Rule extends Wording {
  readonly code: ErrorCode;
  /** Narrows the rule to some of the parser's messages under its code. */
  readonly when?: RegExp;
}

const BELONGS = 'check the indentation of this line, and quotes and brackets before it';

const RULES: readonly Rule[] = [
  { code: 'TAB_AS_INDENT', message: 'a tab is used as indentation', hint: 'indent with spaces' },
  {
    code: 'MISSING_CHAR',
    when: /map keys need to be followed/,
    message: 'expected "key: value", but there is no ": " here',
    hint: 'a key is followed by a colon and a space; check the indentation, too',
  },
  {
    code: 'MISSING_CHAR',
    when: /closing .quote/,
    message: 'the quotes before this place are not closed',
    hint: 'close them, or indent the lines that the quoted text goes on over',
  },
  {
    code: 'MISSING_CHAR',
    when: /Sequence item/,
    message: 'this line does not belong to the list item above it',
    hint: 'line it up with the first key after "- ", or begin a new item with "- "',
  },
  { code: 'MISSING_CHAR', when: /Missing ,/, message: 'a comma is missing between the items within [ ] or { }' },
  { code: 'MISSING_CHAR', when: /Missing space after :/, message: 'a space is missing after the colon' },
  { code: 'MISSING_CHAR', when: /Comments must/, message: 'a space is missing before the "#" of a comment' },
  {
    code: 'MISSING_CHAR',
    when: /directives-end.* indicator/,
    message: 'a line that begins with "%" needs a "---" line after it',
  },
  { code: 'MISSING_CHAR', when: /Block collection/, message: 'the content must begin on the line after "---"' },
  { code: 'MISSING_CHAR', when: /Tags and anchors/, message: 'a space is missing after the anchor' },
  {
    code: 'BAD_INDENT',
    when: /^Flow/,
    message: 'a bracket opened before this place is not closed',
    hint: 'close it, or indent the lines within it',
  },
  {
    code: 'BAD_INDENT',
    when: /same column/,
    message: 'the indentation of this line matches no line above it',
    hint: 'the keys of one mapping, or the items of one list, begin at the same column',
  },
  {
    code: 'BAD_INDENT',
    when: /Block scalar|Multi-line/i,
    message: 'the lines of this text must be indented deeper than its key',
  },
  { code: 'BAD_INDENT', message: 'the indentation of this line does not fit the lines above it' },
  {
    code: 'BLOCK_AS_IMPLICIT_KEY',
    when: /compact/,
    message: 'a second "key: value" begins within this value',
    hint: 'put quotes around a value that holds ": ", or check the indentation of the next line',
  },
  { code: 'BLOCK_AS_IMPLICIT_KEY', message: 'a list stands where a key is expected', hint: BELONGS },
  { code: 'BLOCK_IN_FLOW', message: 'lines with "- " or "key: value" of their own cannot stand within [ ] or { }' },
  {
    code: 'MULTILINE_IMPLICIT_KEY',
    message: 'expected "key: value", but there is no ": " on this line',
    hint: 'a key is followed by a colon and a space, on one line',
  },
  { code: 'KEY_OVER_1024_CHARS', message: 'a key is longer than 1,024 characters' },
  {
    code: 'UNEXPECTED_TOKEN',
    when: /block-seq-ind on same line|Block collections are not allowed/,
    message: 'a list cannot begin on the line of its key',
    hint: 'put "- " on a line of its own, or quotes around the value',
  },
  {
    code: 'UNEXPECTED_TOKEN',
    when: /header includes|Not a YAML token/,
    message: 'nothing but a comment may follow "|" or ">" on its line',
    hint: 'begin the text on the next line, or put quotes around the value',
  },
  { code: 'UNEXPECTED_TOKEN', when: /Unexpected ,/, message: 'a comma without an item before it' },
  { code: 'UNEXPECTED_TOKEN', when: /flow-(?:map|seq)-end/, message: 'a closing bracket without its opening one' },
  { code: 'UNEXPECTED_TOKEN', message: 'this does not belong to what stands before it', hint: BELONGS },
  {
    code: 'BAD_SCALAR_START',
    message: 'a plain value cannot begin with this character',
    hint: 'put quotes around the value',
  },
  {
    code: 'BAD_DQ_ESCAPE',
    message: 'an unknown escape in double quotes',
    hint: 'write a backslash as \\\\, or use single quotes',
  },
  { code: 'ALIAS_PROPS', message: 'an alias cannot have an anchor of its own' },
  {
    code: 'BAD_ALIAS',
    message: 'the name of an anchor or alias is missing',
    hint: 'a value that begins with "*" or "&" needs quotes',
  },
  { code: 'MULTIPLE_ANCHORS', message: 'a value cannot have two anchors' },
  { code: 'BAD_PROP_ORDER', message: 'the anchor must stand after the "-", "?" or ":"' },
  { code: 'BAD_DIRECTIVE', message: 'the line that begins with "%" is not valid' },
];

/** Says an error of the YAML parser in words for a person who writes YAML, not parsers. */
export function wording(code: ErrorCode, parserMessage: string): Wording {
  const rule = RULES.find((candidate) => candidate.code === code && (candidate.when?.test(parserMessage) ?? true));
  return rule ?? { message: `this is not valid YAML (${shown(parserMessage.slice(0, 100))})` };
}
