import { OPERATIONS } from '../contract/operations.ts';
import { readUploadId, type UploadKind } from '../contract/uploads.ts';
import { PartnerctlError, withHint } from '../errors.ts';
import type { Http } from './http.ts';
import type { StreamedBody } from './streamed-body.ts';

const CREATE = { attachment: OPERATIONS.createFileAttachment, document: OPERATIONS.createDocument } as const;

const SEND_AS_FILE =
  'The text was sent as JSON. If the service takes only files, send it as one: partnerctl upload - --as document --filename <name>';

/** Tells that a text can be sent as a file, if the service refuses it for its form. */
function hintAtFile(error: unknown, { contentType }: StreamedBody): unknown {
  const isText = contentType === 'application/json';
  const isOfForm = error instanceof PartnerctlError && [400, 415, 422].includes(error.info.status ?? 0);
  return isText && isOfForm ? withHint(error, { hint: SEND_AS_FILE, details: {} }) : error;
}

/**
 * Uploads a file or a text (spec §4, endpoints 7 and 8). The call is retried only if the service cannot have received
 * the whole request: it never left this machine, or a response or a failure came before the last byte was sent.
 * @returns the id of the new document or attachment
 * @throws OutcomeUnknownError if it may have been created, but no readable response confirms it. Every other
 * PartnerctlError proves that it was not created. Errors from the body's source are thrown unchanged
 */
export async function createUpload(http: Http, kind: UploadKind, body: StreamedBody): Promise<string> {
  const response = await http.call(CREATE[kind], { body }).catch((error: unknown) => {
    throw hintAtFile(error, body);
  });
  return response.read((uploaded, contract) => readUploadId(uploaded, kind, contract));
}
