import { show } from '../service.ts';

/** What the operations of the specification do with the data of the tests. Returns resources as a service sends them. */
export class Store {
  #facts;
  #names;
  #missing;

  /**
   * @param facts returns the current data
   * @param names what the service calls the fields
   * @param missing returns the error of the framework for something that does not exist
   */
  constructor(facts, names, missing) {
    this.#facts = facts;
    this.#names = names;
    this.#missing = missing;
  }

  spaces() {
    return this.#facts().spaces.map((space) => this.#show('space', space));
  }

  agents(spaceId) {
    const { space_id } = this.#find(this.#facts().spaces, 'space', spaceId);
    const agents = this.#facts().agentsOf(space_id);
    return agents.map((agent) => this.#show('agent', agent));
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
    const { space_id } = this.#find(this.#facts().spaces, 'space', spaceId);
    const { agent_id } = this.#find(this.#facts().agentsOf(space_id), 'agent', agentId);
    return this.#show('source', this.#facts().setUpSource(agent_id, fields));
  }

  send({ source_id, session_id, text, external_message_id }) {
    const facts = this.#facts();
    const source = this.#find(facts.sources, 'source', source_id);
    const known = facts
      .session(source.source_id, session_id)
      .find((message) => message.external_message_id === external_message_id);
    const message = known ?? facts.addMessage(source.source_id, session_id, 'user', text, external_message_id);
    return { ...this.#show('message', message), created: !known };
  }

  /** The messages of a session after one of them, oldest first. */
  history(sourceId, sessionId, after) {
    const { source_id } = this.#find(this.#facts().sources, 'source', sourceId);
    const messages = this.#facts().session(source_id, sessionId);
    const at = after ? messages.findIndex(({ message_id }) => String(message_id) === after) : -1;
    return messages.slice(at + 1).map((message) => this.#show('message', message));
  }

  upload(kind, filename, size) {
    return this.#show(kind, this.#facts().addUpload(kind, filename, size));
  }

  createJob({ agent_id, name, instructions, schedule }) {
    const agent = this.#find(this.#facts().agents, 'agent', agent_id);
    const job = this.#facts().addJob({ agent_id: agent.agent_id, name, instructions, schedule });
    return this.#show('cron_job', job);
  }

  jobs() {
    return this.#facts().jobs.map((job) => this.#show('cron_job', job));
  }

  #show(resource, fact) {
    return show(this.#names, resource, fact);
  }

  #find(facts, resource, id) {
    const found = facts.find((fact) => String(fact[`${resource}_id`]) === String(id));
    if (found === undefined) throw this.#missing(`The ${resource} ${id} does not exist.`);
    return found;
  }
}
