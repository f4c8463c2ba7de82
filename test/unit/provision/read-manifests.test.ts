import { describe, expect, test } from 'vitest';
import { parseManifests } from '../../../src/provision/read-manifests.ts';
import { changed, problemLines, read, readAll, VALID } from '../manifests.ts';

describe('keys', () => {
  test('every unknown key is reported; without a close match, the hint lists the valid keys', () => {
    const reading = read(changed('  name: Acme', '  name: Acme\n  colour: red\n  owner: me'));
    expect(problemLines(reading)).toEqual(['a.yaml:4:3 unknown key "colour"', 'a.yaml:5:3 unknown key "owner"']);
    expect(reading.problems[0]?.hint).toBe('valid keys: name, description, is_org_wide');
  });

  test.each([
    ['cron: []', '"cron" belongs in "agents[]"; valid keys here: external_space_id, space, agents'],
    ['timezone: UTC', '"timezone" belongs in "agents[].cron[]"; valid keys here: external_space_id, space, agents'],
  ])('the hint for a key in the wrong mapping names the right one: %s', (line, hint) => {
    expect(read(`${VALID}${line}\n`).problems[0]?.hint).toBe(hint);
  });

  test('the hint for a key that belongs at the top level says so', () => {
    const reading = read(changed('  name: Acme', '  name: Acme\n  agents: []'));
    expect(reading.problems[0]?.hint).toBe(
      '"agents" belongs at the top level; valid keys here: name, description, is_org_wide',
    );
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is one unknown key among others', (key) => {
    const reading = read(`${VALID}${key}: {polluted: true}\n`);
    expect(problemLines(reading)).toEqual([`a.yaml:7:1 unknown key "${key}"`]);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test('missing keys are reported at the start of their mapping', () => {
    expect(problemLines(read('agents:\n  - name: x\nspace: {}\n'))).toEqual([
      'a.yaml:1:1 the key "external_space_id" is missing',
      'a.yaml:2:5 the key "template_id" is missing in "agents[0]"',
      'a.yaml:3:8 the key "name" is missing in "space"',
    ]);
  });

  test('a duplicate key is reported with the line of the first', () => {
    expect(problemLines(read(`${VALID}space: {name: Other}\n`))).toEqual([
      'a.yaml:7:1 duplicate key "space", first on line 2',
    ]);
  });

  test.each([
    ['1: x', 'a.yaml:7:1 unknown key "1"'],
    ['true: x', 'a.yaml:7:1 unknown key "true"'],
    ['null: x', 'a.yaml:7:1 unknown key "null"'],
    [': x', 'a.yaml:7:3 unknown key ""'],
    ['? [a]\n: x', 'a.yaml:7:3 a key must be text'],
    ['{a: b}: x', 'a.yaml:7:1 a key must be text'],
    ['${KEY}: x', 'a.yaml:7:1 variables can be used in values, not in keys'],
  ])('a key must be plain text: %s', (line, message) => {
    expect(problemLines(read(`${VALID}${line}\n`))).toEqual([message]);
  });
});

describe('values', () => {
  test.each([
    ['acme-001', '007', '1:20 "external_space_id" must be text, not 7', 'put quotes around it: "007"'],
    ['acme-001', 'true', '1:20 "external_space_id" must be text, not true', 'put quotes around it: "true"'],
    ['acme-001', '1e3', '1:20 "external_space_id" must be text, not 1000', 'put quotes around it: "1e3"'],
    ['acme-001', '[a]', '1:20 "external_space_id" must be text, not a list', undefined],
    ['acme-001', '', '1:1 "external_space_id" must be text, not empty', undefined],
    ['acme-001', '~', '1:20 "external_space_id" must be text, not empty', undefined],
    ['acme-001', '""', '1:20 "external_space_id" must not be empty', undefined],
    [
      'acme-001',
      '" a"',
      '1:20 "external_space_id" must not start or end with white space, or contain a line break',
      undefined,
    ],
    [
      'acme-001',
      '"a\\nb"',
      '1:20 "external_space_id" must not start or end with white space, or contain a line break',
      undefined,
    ],
    ['acme-001', '"a\\eb"', '1:20 "external_space_id" must not contain control characters', undefined],
    ['tmpl_support', '"a\\tb"', '5:18 "agents[0].template_id" must not contain control characters', undefined],
    ['Support', '"  "', '6:11 "agents[0].name" must not be empty', undefined],
    ['Support', '{}', '6:11 "agents[0].name" must be text, not a mapping', undefined],
    ['\n  name: Acme', ' Acme', '2:8 "space" must be a mapping, not "Acme"', undefined],
    ['\n  name: Acme', '\n  - name: Acme', '3:3 "space" must be a mapping, not a list', undefined],
    ['\n  name: Acme', ' []', '2:8 "space" must be a mapping, not a list', undefined],
    [
      'name: Acme',
      'name: A\n  is_org_wide: yes',
      '4:16 "space.is_org_wide" must be true or false, not "yes"',
      'write true',
    ],
    [
      'name: Acme',
      'name: A\n  is_org_wide: "false"',
      '4:16 "space.is_org_wide" must be true or false, not "false"',
      'write false without quotes',
    ],
    ['name: Acme', 'name: A\n  is_org_wide: 1', '4:16 "space.is_org_wide" must be true or false, not 1', undefined],
    ['name: Acme', 'name: A\n  description:', '4:3 "space.description" must be text, not empty', undefined],
    [/\n {2}- .*/s, ' []\n', '4:9 "agents" must list at least one agent', undefined],
    [/\n {2}- .*/s, ' {}\n', '4:9 "agents" must be a list, not a mapping', undefined],
    [/\n {2}- .*/s, '\n  -\n', '5:4 "agents[0]" must be a mapping, not empty', undefined],
    [
      'Support',
      'S\n    api_chat_routing_mode: agentinbox',
      '7:28 "agents[0].api_chat_routing_mode" must be agent_inbox or session_workflow, not "agentinbox"',
      'did you mean "agent_inbox"?',
    ],
    [
      'Support',
      'S\n    api_chat_routing_mode: direct',
      '7:28 "agents[0].api_chat_routing_mode" must be agent_inbox or session_workflow, not "direct"',
      undefined,
    ],
    [
      'Support',
      'S\n    auto_create_api_chat: null',
      '7:27 "agents[0].auto_create_api_chat" must be true or false, not empty',
      undefined,
    ],
  ])('%s replaced by %s', (from, to, message, hint) => {
    const reading = read(changed(from, to));
    expect(problemLines(reading)).toEqual([`a.yaml:${message}`]);
    expect(reading.problems[0]?.hint).toBe(hint);
    expect(reading.documents).toEqual([]);
  });

  test.each([
    ['- a\n', 'a list'],
    ['text\n', '"text"'],
    ['--- 5\n', '5'],
    ['--- ~\n', 'empty'],
  ])('a document must be a mapping: %j', (text, kind) => {
    expect(problemLines(read(text)).map((message) => message.replace(/^\S+ /, ''))).toEqual([
      `this document must be a mapping, not ${kind}`,
    ]);
  });

  test('a name may be any text', () => {
    const name = '\u001b[1m\t\n日本語 \u202e👩‍👩‍👧 "\'#: ';
    const reading = read(changed('Support', JSON.stringify(name)));
    expect(problemLines(reading)).toEqual([]);
    expect(reading.documents[0]?.manifest.agents[0]?.name).toBe(name);
  });
});

describe('duplicates', () => {
  test('a space described twice, in two files, is reported', () => {
    const reading = readAll([VALID, `# second\n${VALID}`]);
    expect(problemLines(reading)).toEqual([
      'b.yaml:2:20 the space "acme-001" is described twice, first at a.yaml:1:20',
    ]);
    expect(reading.documents).toHaveLength(1);
  });

  test('messages are safe to print, whatever the names of files and keys', () => {
    const name = 'a\u001b[2J.yaml';
    const unknownKey = VALID.concat('"\\e[2J\u202e": 1\n').replace('acme', 'other');
    const sources = [VALID, VALID, unknownKey].map((text) => ({ name, text }));
    expect(parseManifests(sources, () => undefined).problems.map(({ message }) => message)).toEqual([
      'the space "acme-001" is described twice, first at a·[2J.yaml:1:20',
      'unknown key "·[2J·"',
    ]);
  });

  test.each([
    ['one name', 'Sales', 'Sales'],
    ['one name in two Unicode forms', 'Café'.normalize('NFC'), 'Café'.normalize('NFD')],
  ])('two agents of a template with %s are reported', (_, first, second) => {
    const text = changed('Support', first).concat(`  - { template_id: tmpl_support, name: ${second} }\n`);
    const { problems } = read(text);
    expect(problemLines(read(text))).toEqual([
      'a.yaml:7:40 this agent has the same template and name as the one at a.yaml:6:11',
    ]);
    expect(problems[0]?.hint).toBe('give each agent of a template a name of its own');
  });

  test('two spaces whose ids differ in their Unicode form are different', () => {
    const ids = ['café'.normalize('NFC'), 'café'.normalize('NFD')];
    expect(problemLines(readAll(ids.map((id) => changed('acme-001', id))))).toEqual([]);
  });

  test('agents may share a template or a name', () => {
    const agents = '  - {template_id: tmpl_support, name: B}\n  - {template_id: other, name: Support}\n';
    expect(problemLines(read(VALID + agents))).toEqual([]);
  });
});
