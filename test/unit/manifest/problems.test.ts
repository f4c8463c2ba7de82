import { describe, expect, test } from 'vitest';
import { readManifests } from '../../../src/provision/manifest.ts';
import { read, readAll, said, VALID } from './reading.ts';

function changed(from: string | RegExp, to: string): string {
  const text = VALID.replace(from, to);
  expect(text).not.toBe(VALID);
  return text;
}

describe('keys', () => {
  test('an unknown key, with the one that was meant, which is then not missing, too', () => {
    const reading = read(changed('template_id:', 'templateId:'));
    expect(said(reading)).toEqual(['a.yaml:5:5 unknown key "templateId"']);
    expect(reading.problems[0]?.hint).toBe('did you mean "template_id"?');
  });

  test('every unknown key of a mapping, with what is known where nothing is near', () => {
    const reading = read(changed('  name: Acme', '  name: Acme\n  colour: red\n  owner: me'));
    expect(said(reading)).toEqual(['a.yaml:4:3 unknown key "colour"', 'a.yaml:5:3 unknown key "owner"']);
    expect(reading.problems[0]?.hint).toBe('known here: name, description, is_org_wide');
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is one unknown key among others', (key) => {
    const reading = read(`${VALID}${key}: {polluted: true}\n`);
    expect(said(reading)).toEqual([`a.yaml:7:1 unknown key "${key}"`]);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test('missing keys, at the beginning of what misses them', () => {
    expect(said(read('agents:\n  - name: x\nspace: {}\n'))).toEqual([
      'a.yaml:1:1 the key "external_space_id" is missing',
      'a.yaml:2:5 the key "template_id" is missing in "agents[0]"',
      'a.yaml:3:8 the key "name" is missing in "space"',
    ]);
  });

  test('a key given twice', () => {
    expect(said(read(`${VALID}space: {name: Other}\n`))).toEqual([
      'a.yaml:7:1 the key "space" is given twice in this mapping, first on line 2',
    ]);
  });

  test.each([
    ['1: x', 'a.yaml:7:1 a key must be text'],
    ['true: x', 'a.yaml:7:1 a key must be text'],
    ['null: x', 'a.yaml:7:1 a key must be text'],
    [': x', 'a.yaml:7:1 a key is empty'],
    ['? [a]\n: x', 'a.yaml:7:3 a key must be text, not a list, mapping or alias'],
    ['{a: b}: x', 'a.yaml:7:1 a key must be text, not a list, mapping or alias'],
    ['${KEY}: x', 'a.yaml:7:1 variables are put into values only, not into keys'],
  ])('a key that is not plain text: %s', (line, message) => {
    expect(said(read(`${VALID}${line}\n`))).toEqual([message]);
  });
});

describe('values', () => {
  test.each([
    ['acme-001', '007', '1:20 "external_space_id" must be text, not the number 7', 'put quotes around it: "007"'],
    ['acme-001', 'true', '1:20 "external_space_id" must be text, not the boolean true', 'put quotes around it: "true"'],
    ['acme-001', '1e3', '1:20 "external_space_id" must be text, not the number 1000', 'put quotes around it: "1e3"'],
    ['acme-001', '[a]', '1:20 "external_space_id" must be text, not a list', undefined],
    ['acme-001', '', '1:1 "external_space_id" must be text, not empty', undefined],
    ['acme-001', '~', '1:20 "external_space_id" must be text, not empty', undefined],
    ['acme-001', '""', '1:20 "external_space_id" must not be empty', undefined],
    [
      'acme-001',
      '" a"',
      '1:20 "external_space_id" must not begin or end with white space, or hold a line break',
      undefined,
    ],
    [
      'acme-001',
      '"a\\nb"',
      '1:20 "external_space_id" must not begin or end with white space, or hold a line break',
      undefined,
    ],
    ['acme-001', '"a\\eb"', '1:20 "external_space_id" must not hold control characters', undefined],
    ['acme-001', '"a\\ud800b"', '1:20 this text holds half a character (an unpaired surrogate)', undefined],
    ['tmpl_support', '"a\\tb"', '5:18 "agents[0].template_id" must not hold control characters', undefined],
    ['Support', '"  "', '6:11 "agents[0].name" must not be empty', undefined],
    ['Support', '{}', '6:11 "agents[0].name" must be text, not a mapping', undefined],
    ['\n  name: Acme', ' Acme', '2:8 "space" must be a mapping, not the text "Acme"', undefined],
    ['\n  name: Acme', '\n  - name: Acme', '3:3 "space" must be a mapping, not a list', undefined],
    ['\n  name: Acme', ' []', '2:8 "space" must be a mapping, not a list', undefined],
    [
      'name: Acme',
      'name: A\n  is_org_wide: yes',
      '4:16 "space.is_org_wide" must be true or false, not the text "yes"',
      'write true',
    ],
    [
      'name: Acme',
      'name: A\n  is_org_wide: "false"',
      '4:16 "space.is_org_wide" must be true or false, not the text "false"',
      'write false, without quotes',
    ],
    [
      'name: Acme',
      'name: A\n  is_org_wide: 1',
      '4:16 "space.is_org_wide" must be true or false, not the number 1',
      undefined,
    ],
    ['name: Acme', 'name: A\n  description:', '4:3 "space.description" must be text, not empty', undefined],
    [/\n {2}- .*/s, ' []\n', '4:9 "agents" must list at least one agent', undefined],
    [/\n {2}- .*/s, ' {}\n', '4:9 "agents" must be a list, not a mapping', undefined],
    [/\n {2}- .*/s, '\n  -\n', '5:4 "agents[0]" must be a mapping, not empty', undefined],
    [
      'Support',
      'S\n    api_chat_routing_mode: agentinbox',
      '7:28 "agents[0].api_chat_routing_mode" must be agent_inbox or session_workflow, not the text "agentinbox"',
      'did you mean "agent_inbox"?',
    ],
    [
      'Support',
      'S\n    api_chat_routing_mode: direct',
      '7:28 "agents[0].api_chat_routing_mode" must be agent_inbox or session_workflow, not the text "direct"',
      undefined,
    ],
    [
      'Support',
      'S\n    auto_create_api_chat: null',
      '7:27 "agents[0].auto_create_api_chat" must be true or false, not empty',
      undefined,
    ],
  ])('%s becomes %s', (from, to, message, hint) => {
    const reading = read(changed(from, to));
    expect(said(reading)).toEqual([`a.yaml:${message}`]);
    expect(reading.problems[0]?.hint).toBe(hint);
    expect(reading.documents).toEqual([]);
  });

  test.each([
    ['- a\n', 'a list'],
    ['text\n', 'the text "text"'],
    ['--- 5\n', 'the number 5'],
    ['--- ~\n', 'empty'],
  ])('a document that is not a mapping: %j', (text, kind) => {
    expect(said(read(text)).map((message) => message.replace(/^\S+ /, ''))).toEqual([
      `this document must be a mapping, not ${kind}`,
    ]);
  });

  test('names may hold anything that is text', () => {
    const name = '\u001b[1m\t\n日本語 \u202e👩‍👩‍👧 "\'#: ';
    const reading = read(changed('Support', JSON.stringify(name)));
    expect(said(reading)).toEqual([]);
    expect(reading.documents[0]?.manifest.agents[0]?.name).toBe(name);
  });
});

describe('what must differ', () => {
  test('one space described twice, in another file', () => {
    const reading = readAll([VALID, `# second\n${VALID}`]);
    expect(said(reading)).toEqual(['b.yaml:2:20 the space "acme-001" is described twice, first at a.yaml:1:20']);
    expect(reading.documents).toHaveLength(1);
  });

  test('a message is safe to show, whatever files and keys are called', () => {
    const sources = [VALID, VALID.concat('"\\e[2J\u202e": 1\n')].map((text) => ({ name: 'a\u001b[2J.yaml', text }));
    expect(readManifests(sources, () => undefined).problems.map(({ message }) => message)).toEqual([
      'the space "acme-001" is described twice, first at a·[2J.yaml:1:20',
      'unknown key "·[2J·"',
    ]);
  });

  test('two agents of one template and name, found beside other problems', () => {
    const agent = '  - {template_id: tmpl_support, name: Support, extra: 1}\n';
    expect(said(read(VALID + agent))).toEqual([
      'a.yaml:7:39 this agent has the same template and name as the one at a.yaml:6:11',
      'a.yaml:7:48 unknown key "extra"',
    ]);
  });

  test('what is missing is not compared', () => {
    const agents = '  - {name: A}\n  - {name: A}\n  - {template_id: t, name: ""}\n  - {template_id: t, name: ""}\n';
    expect(said(read(VALID + agents))).toEqual([
      'a.yaml:7:5 the key "template_id" is missing in "agents[1]"',
      'a.yaml:8:5 the key "template_id" is missing in "agents[2]"',
      'a.yaml:9:28 "agents[3].name" must not be empty',
      'a.yaml:10:28 "agents[4].name" must not be empty',
    ]);
  });

  test('a template may be installed twice under two names, and two templates under one name', () => {
    const agents = '  - {template_id: tmpl_support, name: B}\n  - {template_id: other, name: Support}\n';
    expect(said(read(VALID + agents))).toEqual([]);
  });
});

describe('syntax', () => {
  test.each([
    ['name: "foo\nspace: {a: b}\n', '1:7 this quote is not closed'],
    ["a: b\nname: 'foo\nspace: c\n", '2:7 this quote is not closed'],
    ["name: 'it's'\n", '1:11 this does not belong to what stands before it'],
    ['name: foo: bar\n', '1:7 a second "key: value" begins within this value'],
    ['name\nspace: x\n', '1:1 expected "key: value", but there is no ": " on this line'],
    ['a: b\nc\n', '2:1 expected "key: value", but there is no ": " here'],
    ['a:\n    b: c\n  d: e\n', '3:3 the indentation of this line matches no line above it'],
    ['a:\n\tb: c\n', '2:1 a tab is used as indentation'],
    ['a:\n  b: c\n\td: e\n', '3:1 a tab is used as indentation'],
    ['a: [b, c\nd: e\n', '1:4 this bracket is not closed'],
    ['a: {b: [c, {d: e}\nf: g\n', '1:8 this bracket is not closed'],
    ['[a, b\n', '1:1 this bracket is not closed'],
    ['a: ]\n', '1:4 a closing bracket without its opening one'],
    ['a: @x\n', '1:4 a plain value cannot begin with this character'],
    ['---\n%a\n', '2:1 a plain value cannot begin with this character'],
    ['a: "\\q"\nb: [\n', '1:5 an unknown escape in double quotes / 2:4 this bracket is not closed'],
    ['a: |x\n  b\n', '1:5 nothing but a comment may follow "|" or ">" on its line'],
    ['a: - b\n', '1:4 a list cannot begin on the line of its key'],
    ['agents:\n- x: 1\n y: 2\n', '3:1 this line does not belong to the list item above it'],
    ['--- a: b\n', '1:5 the content must begin on the line after "---"'],
    ['%YAML\n---\na: b\n', '1:1 the line that begins with "%" is not valid'],
    ['space: {name: ${NAME}}\n', '1:15 within { } or [ ], a value with "${" needs quotes'],
    ['a: 1\rb: 2\n', '1:5 a carriage return without a line feed'],
    ['a: &x *y\n', '1:7 an alias cannot have an anchor of its own'],
  ])('%j', (text, messages) => {
    const found = said(read(text)).filter((message) => !/unknown key|is missing/.test(message));
    expect(found).toEqual(messages.split(' / ').map((message) => `a.yaml:${message}`));
  });

  test('what follows from a syntax error is not reported, and the other documents are checked', () => {
    const reading = read(`a: [\nb: c\n---\n${VALID}---\n${changed('acme-001', '5')}`);
    expect(said(reading)).toEqual([
      'a.yaml:1:4 this bracket is not closed',
      'a.yaml:11:20 "external_space_id" must be text, not the number 5',
    ]);
    expect(reading.documents.map(({ source, index }) => ({ source, index }))).toEqual([
      { source: 'a.yaml:4', index: 1 },
    ]);
  });

  test.each(['!!binary aGk=', '!foo x', '!!str 5', '! x', '!a!b x', '!!set {a}', '!!int "5"', '!foo [a]'])(
    'a tag: %s',
    (value) => {
      expect(said(read(changed('Acme', value)))).toEqual(['a.yaml:3:9 tags are not used here']);
    },
  );

  test('an unknown escape leaves everything else to be checked', () => {
    expect(said(read(changed('Acme', '"C:\\users\\q"').replace('Support', '5')))).toEqual([
      'a.yaml:3:12 an unknown escape in double quotes',
      'a.yaml:3:18 an unknown escape in double quotes',
      'a.yaml:6:11 "agents[0].name" must be text, not the number 5',
    ]);
  });

  test('text that only looks like a tag', () => {
    expect(said(read('--- |\n!foo\n'))).toEqual(['a.yaml:1:5 this document must be a mapping, not the text "!foo·"']);
    expect(said(read(changed('Acme', '"!foo"\n  description: |\n    !bar')))).toEqual([]);
  });
});

describe('aliases', () => {
  test('anchors, aliases and merge keys', () => {
    const text = `external_space_id: &id acme
space: { name: *id }
agents:
  - &first { template_id: one, name: One, auto_create_api_chat: true }
  - <<: *first
    name: Two
  - <<: [{ name: Three }, *first]
`;
    const { documents, problems } = read(text);
    expect(problems).toEqual([]);
    expect(documents[0]?.manifest).toEqual({
      external_space_id: 'acme',
      space: { name: 'acme' },
      agents: [
        { template_id: 'one', name: 'One', auto_create_api_chat: true },
        { template_id: 'one', name: 'Two', auto_create_api_chat: true },
        { template_id: 'one', name: 'Three', auto_create_api_chat: true },
      ],
    });
  });

  test('a mistake in a shared value is reported once, where it is written', () => {
    const text = changed('- template_id', '- &a\n    extra: 1\n    template_id').concat('  - <<: *a\n    name: Two\n');
    expect(said(read(text))).toEqual(['a.yaml:6:5 unknown key "extra"']);
  });

  test('an alias of the wrong type is reported where it is used', () => {
    const text = changed('name: Acme', 'name: &n Acme\n  is_org_wide: *n');
    expect(said(read(text))).toEqual(['a.yaml:4:16 "space.is_org_wide" must be true or false, not the text "Acme"']);
  });

  test('an alias without an anchor, and what is merged through it', () => {
    expect(said(read(changed('Acme', '*bold*')))).toEqual(['a.yaml:3:9 no anchor "&bold*" stands before this alias']);
    expect(said(read(`${VALID}  - <<: *later\n`))).toEqual(['a.yaml:7:9 no anchor "&later" stands before this alias']);
    expect(said(read(`${VALID}---\n${changed('acme-001', '*id')}`))).toEqual([
      'a.yaml:8:20 no anchor "&id" stands before this alias',
    ]);
  });

  test('an alias within its own value', () => {
    expect(said(read(changed('- template_id', '- &a\n    <<: *a\n    template_id')))).toEqual([
      'a.yaml:6:9 an alias cannot stand within the value that it stands for',
    ]);
  });

  test('a merged mapping with a bad key is not said to miss anything', () => {
    const text = changed('- template_id', '- &a\n    1: x\n    template_id').concat('  - <<: {<<: {2: y}}\n');
    expect(said(read(text))).toEqual(['a.yaml:6:5 a key must be text', 'a.yaml:9:15 a key must be text']);
  });

  test('an alias stands for the last value with its anchor', () => {
    const text = changed('name: Acme', 'name: &x Acme\n  description: &x Other').replace('Support', '*x');
    expect(read(text).documents[0]?.manifest.agents[0]?.name).toBe('Other');
  });

  test('a merge of something else', () => {
    expect(said(read(`${VALID}  - <<: 5\n`))).toEqual(['a.yaml:7:9 after "<<" comes a mapping, or a list of mappings']);
  });

  test('a quoted "<<" is a key like any other', () => {
    expect(said(read(`${VALID}"<<": {}\n`))).toEqual(['a.yaml:7:1 unknown key "<<"']);
  });
});
