import { show } from '../service.ts';

/**
 * What the operations of the specification do with the data of the tests. Returns resources as a service sends them;
 * undefined where something that is named does not exist.
 */
export class Store {
  #facts;
  #names;

  /**
   * @param facts returns the current data
   * @param names what the service calls the fields
   */
  constructor(facts, names) {
    this.#facts = facts;
    this.#names = names;
  }

  spaces() {
    return this.#facts().spaces.map((space) => this.#show('space', space));
  }

  agents(spaceId) {
    const space = find(this.#facts().spaces, 'space', spaceId);
    return (
      space &&
      this.#facts()
        .agentsOf(space.space_id)
        .map((agent) => this.#show('agent', agent))
    );
  }

  provision({ external_space_id, space: fields, agents }) {
    const facts = this.#facts();
    const space = facts.addSpace(external_space_id, fields);
    const installed = agents.map(({ name, template_id, auto_create_api_chat }) => {
      const agent = facts.addAgent(space.space_id, name, template_id);
      if (auto_create_api_chat) facts.setUpSource(agent.agent_id, {});
      return this.#show('agent', agent);
    });
    return { space: this.#show('space', space), agents: installed };
  }

  setUpSource(spaceId, agentId, fields) {
    const space = find(this.#facts().spaces, 'space', spaceId);
    const agent = space && find(this.#facts().agentsOf(space.space_id), 'agent', agentId);
    return agent && this.#show('source', this.#facts().setUpSource(agent.agent_id, fields));
  }

  send({ source_id, session_id, text, external_message_id }) {
    const facts = this.#facts();
    const source = find(facts.sources, 'source', source_id);
    if (source === undefined) return undefined;
    const known = facts
      .session(source.source_id, session_id)
      .find((message) => message.external_message_id === external_message_id);
    const message = known ?? facts.addMessage(source.source_id, session_id, 'user', text, external_message_id);
    return { ...this.#show('message', message), created: !known };
  }

  /** The messages of a session after one of them, oldest first. */
  history(sourceId, sessionId, after) {
    const source = find(this.#facts().sources, 'source', sourceId);
    const messages = source && this.#facts().session(source.source_id, sessionId);
    const at = after ? messages?.findIndex(({ message_id }) => String(message_id) === after) : -1;
    return messages?.slice(at + 1).map((message) => this.#show('message', message));
  }

  upload(kind, filename, size) {
    return this.#show(kind, this.#facts().addUpload(kind, filename, size));
  }

  createJob({ agent_id, name, instructions, schedule }) {
    const agent = find(this.#facts().agents, 'agent', agent_id);
    return (
      agent && this.#show('cron_job', this.#facts().addJob({ agent_id: agent.agent_id, name, instructions, schedule }))
    );
  }

  jobs() {
    return this.#facts().jobs.map((job) => this.#show('cron_job', job));
  }

  #show(resource, fact) {
    return show(this.#names, resource, fact);
  }
}

function find(facts, resource, id) {
  return facts.find((fact) => String(fact[`${resource}_id`]) === String(id));
}
