import 'reflect-metadata';
import {
  Body,
  Controller,
  DefaultValuePipe,
  Get,
  Inject,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  ParseUUIDPipe,
  Post,
  Query,
  UploadedFile,
  UseInterceptors,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FileInterceptor } from '@nestjs/platform-express';
import {
  ApiBody,
  ApiConsumes,
  ApiCreatedResponse,
  ApiOkResponse,
  ApiProperty,
  ApiQuery,
  DocumentBuilder,
  SwaggerModule,
} from '@nestjs/swagger';
import { uuids } from '../facts.ts';
import { Store } from './store.js';

/*
 * NestJS with @nestjs/swagger: camel case, classes as schemas, and pages as nestjs-typeorm-paginate sends them. The decorators
 * are called as the compiler of TypeScript would.
 */

export const names = {
  name: 'nest',
  ids: uuids,
  id: 'id',
  casing: 'camel',
  author: ['senderType', 'CUSTOMER', 'AGENT'],
  fields: { 'message.text': 'body' },
};

export const documentPath = '/api-json';

/** Declares a class whose properties have types, a type in an array, or the options of ApiProperty. */
function dto(name, properties) {
  const Dto = { [name]: class {} }[name];
  for (const [key, type] of Object.entries(properties)) {
    const isOptions = typeof type === 'object' && !Array.isArray(type);
    ApiProperty(isOptions ? type : { type })(Dto.prototype, key);
  }
  return Dto;
}

function decorateMethod(Class, name, decorators, parameters) {
  for (const [index, decorator] of parameters.entries()) decorator(Class.prototype, name, index);
  const descriptor = Object.getOwnPropertyDescriptor(Class.prototype, name);
  for (const decorator of decorators.toReversed()) decorator(Class.prototype, name, descriptor);
}

const optional = (type) => ({ type, required: false });
const Space = dto('Space', {
  id: String,
  externalSpaceId: String,
  name: String,
  description: String,
  isOrgWide: Boolean,
});
const Agent = dto('Agent', { id: String, spaceId: String, name: String, templateId: String });
const Source = dto('Source', { id: String, agentId: String, name: String, replyCapable: Boolean, routingMode: String });
const MESSAGE = {
  id: { type: String, format: 'uuid' },
  sourceId: String,
  sessionId: String,
  externalMessageId: { type: String, nullable: true },
  senderType: { enum: ['CUSTOMER', 'AGENT'], enumName: 'SenderType' },
  body: String,
  createdAt: Date,
};
const Message = dto('Message', MESSAGE);
const SentMessage = dto('SentMessage', { ...MESSAGE, created: Boolean });
const CronJob = dto('CronJob', { id: String, agentId: String, name: String, instructions: String, schedule: Object });
const Upload = dto('Upload', { id: String, filename: String, size: Number });
const Provisioned = dto('ProvisionedSpace', { space: Space, agents: [Agent] });

const SpaceInput = dto('SpaceInput', { name: String, description: optional(String), is_org_wide: optional(Boolean) });
const AgentInput = dto('AgentInput', {
  template_id: String,
  name: String,
  auto_create_api_chat: optional(Boolean),
  api_chat_routing_mode: optional(String),
});
const ProvisionSpace = dto('ProvisionSpaceDto', { external_space_id: String, space: SpaceInput, agents: [AgentInput] });
const SetUpSource = dto('SetUpSourceDto', { name: String, reply_capable: Boolean, routing_mode: String });
const SendMessage = dto('SendMessageDto', {
  source_id: String,
  session_id: String,
  text: String,
  external_message_id: String,
  response_mode: optional(String),
});
const CreateCronJob = dto('CreateCronJobDto', {
  agent_id: String,
  name: String,
  instructions: String,
  schedule: Object,
});

const PageMeta = dto('PageMeta', {
  totalItems: Number,
  itemCount: Number,
  itemsPerPage: Number,
  totalPages: Number,
  currentPage: Number,
});
const pageOf = (Item) => dto(`${Item.name}Page`, { items: [Item], meta: PageMeta });

function paginate(items, page, limit) {
  const own = items.slice((page - 1) * limit, page * limit);
  const totalPages = Math.ceil(items.length / limit);
  const meta = { totalItems: items.length, itemCount: own.length, itemsPerPage: limit, totalPages, currentPage: page };
  return { items: own, meta };
}

class PartnerController {
  constructor(store) {
    this.store = store;
  }
  spaces(page, limit) {
    return paginate(this.store.spaces(), page, limit);
  }
  agents(page, limit, spaceId) {
    return paginate(this.store.agents(spaceId), page, limit);
  }
  jobs(page, limit) {
    return paginate(this.store.jobs(), page, limit);
  }
  history(page, limit, sourceId, sessionId, after) {
    return paginate(this.store.history(sourceId, sessionId, after), page, limit);
  }
  provision(body) {
    return this.store.provision(body);
  }
  setUp(body, spaceId, agentId) {
    return this.store.setUpSource(spaceId, agentId, body);
  }
  send(body) {
    return this.store.send(body);
  }
  createJob(body) {
    return this.store.createJob(body);
  }
  uploadDocument(file) {
    return this.store.upload('document', file.originalname, file.size);
  }
  uploadAttachment(file) {
    return this.store.upload('file_attachment', file.originalname, file.size);
  }
}

Inject('STORE')(PartnerController, undefined, 0);
Controller()(PartnerController);

const PAGE = [
  Query('page', new DefaultValuePipe(1), ParseIntPipe),
  Query('limit', new DefaultValuePipe(10), ParseIntPipe),
];
const pageQueries = [
  ApiQuery({ name: 'page', required: false, type: Number, schema: { default: 1, minimum: 1 } }),
  ApiQuery({ name: 'limit', required: false, type: Number }),
];
function list(name, path, Item, parameters = [], decorators = []) {
  const response = ApiOkResponse({ type: pageOf(Item) });
  decorateMethod(
    PartnerController,
    name,
    [Get(path), response, ...pageQueries, ...decorators],
    [...PAGE, ...parameters],
  );
}
function create(name, path, Input, Output, parameters = []) {
  const decorators = [Post(path), ApiBody({ type: Input }), ApiCreatedResponse({ type: Output })];
  decorateMethod(PartnerController, name, decorators, [Body(), ...parameters]);
}
function upload(name, path) {
  const schema = { type: 'object', required: ['file'], properties: { file: { type: 'string', format: 'binary' } } };
  const body = [ApiConsumes('multipart/form-data'), ApiBody({ schema })];
  const decorators = [
    Post(path),
    UseInterceptors(FileInterceptor('file')),
    ...body,
    ApiCreatedResponse({ type: Upload }),
  ];
  decorateMethod(PartnerController, name, decorators, [UploadedFile()]);
}

list('spaces', 'automation/spaces', Space);
list('agents', 'automation/spaces/:spaceId/agents', Agent, [Param('spaceId')]);
list('jobs', 'automation/partner-cron-jobs', CronJob);
list(
  'history',
  'integrations/api-chat/history',
  Message,
  [Query('sourceId', ParseUUIDPipe), Query('sessionId'), Query('afterMessageId')],
  [
    ApiQuery({ name: 'sourceId', type: String, format: 'uuid' }),
    ApiQuery({ name: 'sessionId', type: String }),
    ApiQuery({ name: 'afterMessageId', type: String, required: false }),
  ],
);
create('provision', 'automation/agent-templates/provision-space', ProvisionSpace, Provisioned);
create('setUp', 'automation/spaces/:spaceId/agents/:agentId/api-chat', SetUpSource, Source, [
  Param('spaceId'),
  Param('agentId'),
]);
create('send', 'integrations/api-chat/message', SendMessage, SentMessage);
create('createJob', 'automation/partner-cron-jobs', CreateCronJob, CronJob);
upload('uploadDocument', 'automation/documents');
upload('uploadAttachment', 'automation/file-attachments');

/** @param facts returns the current data @returns a listener for the requests */
export async function createListener(facts) {
  class AppModule {}
  const store = { provide: 'STORE', useValue: new Store(facts, names, (message) => new NotFoundException(message)) };
  Module({ controllers: [PartnerController], providers: [store] })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: false });
  app.setGlobalPrefix('v1');
  const config = new DocumentBuilder().setTitle('Partner').setVersion('1.0').build();
  SwaggerModule.setup('api', app, () => SwaggerModule.createDocument(app, config));
  await app.init();
  return app.getHttpAdapter().getInstance();
}
