import { bold, definition, example, fromMarkdown, heading, quoted, text } from './roff.js';

/** The pages of the manual: the program, its groups and commands in section 1, its help topics in section 7. */

function pageName(commandPath) {
  return ['partnerctl', ...commandPath.split(' ').filter(Boolean)].join('-');
}

function titleLine(name, section, { version, date }) {
  return `.TH ${quoted(name.toUpperCase())} ${section} ${quoted(date)} ${quoted(`partnerctl ${version}`)} "Manual of partnerctl"`;
}

function nameSection(name, summary) {
  return [heading('Name'), `${name} \\- ${text(summary.replace(/\.$/, ''))}`];
}

/** @param references pairs of page name and section */
function seeAlso(references) {
  const pages = references.map(([name, section]) => `${bold(name)}(${section})`);
  return [heading('See also'), text(pages.join(',\n').replaceAll('\\', '\u0000')).replaceAll('\u0000', '\\')];
}

function section(title, lines) {
  return lines.length === 0 ? [] : [heading(title), ...lines];
}

function describeFlag({ flag, short, value, choices, default: fallback, default_text: otherwise, repeatable, description }, required) {
  const names = [short, flag].filter(Boolean).map(bold).join(', ');
  const notes = [
    choices && `One of: ${choices.join(', ')}.`,
    repeatable && !description.includes('repeatable') && 'Can be repeated.',
    (fallback ?? otherwise) != null && `Default: ${fallback ?? otherwise}.`,
    required.some(({ one_of: flags, unless }) => flags.join() === flag && unless.length === 0) && 'Required.',
  ].filter(Boolean);
  const term = value === null ? names : `${names} \\fI${text(value)}\\fR`;
  return definition(term, text([`${description[0].toUpperCase()}${description.slice(1)}.`, ...notes].join('\n')));
}

/** Of which flags one must be given. */
function describeChoice({ one_of: flags, unless }) {
  const without = unless.length === 0 ? '' : `, unless ${unless.map(bold).join(' or ')} is given`;
  return `.PP\n${flags.map(bold).join(' or ')} is required${without}.`;
}

function describeExits(exits) {
  return exits.map(({ code, meaning }) => definition(bold(String(code)), text(`${meaning}.`)));
}

function describeType(schema) {
  const types = [schema.type ?? []].flat();
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  return types.join(' or ') || 'any value';
}

/** The fields of the JSON that a command prints, at most two levels down. */
function describeFields(schema, depth = 0) {
  const properties = Object.entries((schema.items ?? schema).properties ?? {});
  return properties.flatMap(([name, field]) => {
    const inner = depth < 1 ? describeFields(field, depth + 1) : [];
    const details = [`${describeType(field)}.`, field.description && `${field.description}.`].filter(Boolean);
    const entry = definition(bold(name), text(details.join('\n')));
    return inner.length === 0 ? [entry] : [entry, '.RS', ...inner, '.RE'];
  });
}

/** @param flags the flags with which a command prints this */
function describeForm({ json, ndjson, text: plain }, flags = []) {
  const withFlags = (format) => `.PP\nWith ${bold([...flags, format].filter(Boolean).join(' '))}`;
  const lines = Object.entries({ json, ndjson }).flatMap(([format, schema]) => {
    const fields = schema ? describeFields(schema) : [];
    if (fields.length === 0) return [];
    const list = schema.type === 'array' ? 'a list of objects with these fields' : 'an object with these fields';
    return [`${withFlags(`-o ${format}`)}, ${list}:`, ...fields];
  });
  if (!plain) return lines;
  return [...lines, flags.length === 0 ? `.PP\n${text(`It prints ${plain}.`)}` : `${withFlags()}, it prints\n${text(plain)}.`];
}

function describeOutput({ variants, ...form }) {
  return section('Output', [
    ...describeForm(form),
    ...variants.flatMap(({ flags, ...variant }) => describeForm(variant, flags)),
  ]);
}

function commandPage(command, program) {
  const { command: path, required, topics } = command;
  const choices = required.filter(({ one_of: flags, unless }) => flags.length > 1 || unless.length > 0);
  const [group] = path.split(' ');
  const isInGroup = path !== group;
  return [
    ...nameSection(pageName(path), command.summary),
    heading('Synopsis'),
    bold(command.usage),
    heading('Description'),
    text(command.description),
    ...section(
      'Arguments',
      command.arguments.map(({ name, description }) => definition(`\\fI${text(name)}\\fR`, text(`${description}.`))),
    ),
    ...section('Options', [...command.flags.map((flag) => describeFlag(flag, required)), ...choices.map(describeChoice)]),
    `.PP\nThe options of every command are in ${bold('partnerctl')}(1).`,
    ...describeOutput(command.output),
    ...section('Exit status', describeExits(command.exit_codes)),
    ...section('Scopes', command.scopes.length === 0 ? [] : [`The token needs: ${text(command.scopes.join(', '))}.`]),
    ...section(
      'Examples',
      command.examples.flatMap(({ command: line, description }) => [`.PP\n${text(description)}:`, example(line)]),
    ),
    ...seeAlso([
      ['partnerctl', 1],
      ...(isInGroup ? [[pageName(group), 1]] : []),
      ...topics.map((topic) => [pageName(topic), 7]),
      ...program.topics.filter(({ name }) => ['output', 'exit-codes'].includes(name)).map(({ name }) => [pageName(name), 7]),
    ]),
  ];
}

function listCommands(commands) {
  return commands.map(({ command, summary }) => definition(`${bold(pageName(command))}(1)`, text(`${summary}.`)));
}

function groupPage({ group, summary }, { commands, topics }) {
  const own = commands.filter(({ command }) => command.startsWith(`${group} `));
  const related = topics.filter((topic) => topic.commands.includes(group));
  return [
    ...nameSection(pageName(group), summary),
    heading('Synopsis'),
    bold(`partnerctl ${group} <command> [options]`),
    ...section('Commands', listCommands(own)),
    ...seeAlso([['partnerctl', 1], ...related.map(({ name }) => [pageName(name), 7])]),
  ];
}

function programPage({ commands, global_flags: flags, exit_codes: exits, topics, description }) {
  return [
    ...nameSection('partnerctl', description),
    heading('Synopsis'),
    bold('partnerctl [options] <command> [arguments]'),
    heading('Description'),
    text(`${description}.`),
    ...section('Commands', listCommands(commands)),
    ...section('Options', flags.map((flag) => describeFlag(flag, []))),
    ...section('Exit status', describeExits(exits)),
    ...section(
      'Topics',
      topics.map(({ name, summary }) => definition(`${bold(pageName(name))}(7)`, text(`${summary}.`))),
    ),
  ];
}

function topicPage({ name, summary }, markdown, { global_flags: flags }) {
  return [
    ...nameSection(pageName(name), summary),
    fromMarkdown(markdown).body,
    ...(name === 'options' ? section('Options', flags.map((flag) => describeFlag(flag, []))) : []),
    ...seeAlso([['partnerctl', 1]]),
  ];
}

/**
 * @param program what `help -o json` prints, with the package's `description`, and the `date` of the manual
 * @param topicTexts the Markdown of each topic, by name
 * @returns the text of each page by its file name
 */
export function createManPages(program, topicTexts) {
  const pages = [
    ['partnerctl', 1, programPage(program)],
    ...program.groups.map((group) => [pageName(group.group), 1, groupPage(group, program)]),
    ...program.commands.map((command) => [pageName(command.command), 1, commandPage(command, program)]),
    ...program.topics.map((topic) => [pageName(topic.name), 7, topicPage(topic, topicTexts[topic.name], program)]),
  ];
  const complete = ([name, number, lines]) =>
    `${[titleLine(name, number, program), '.nh', ...lines].join('\n')}\n`.replace(/^(\.S[HS] .*\n)\.PP\n/gm, '$1');
  return new Map(pages.map((page) => [`${page[0]}.${page[1]}`, complete(page)]));
}
