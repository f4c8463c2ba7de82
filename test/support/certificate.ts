import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const CERTIFICATE_FILE = fileURLToPath(new URL('certificate.pem', import.meta.url));

/** A self-signed certificate for api.partner.test, localhost, and 127.0.0.1, made only for these tests. */
export const CERTIFICATE = readFileSync(CERTIFICATE_FILE, 'utf8');

/** Its key. It protects nothing. */
export const KEY = readFileSync(new URL('certificate-key.pem', import.meta.url), 'utf8');

/** The environment of a process that trusts the certificate. Node.js reads it only when a process starts. */
export const TRUST_CERTIFICATE = { NODE_EXTRA_CA_CERTS: CERTIFICATE_FILE };
