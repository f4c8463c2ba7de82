import { write } from './service.ts';

/** A self-signed certificate for api.partner.test, localhost, and 127.0.0.1, made only for these tests. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBuzCCAWKgAwIBAgIUHl2T2matzYLQwIF9zQTjePd1IQwwCgYIKoZIzj0EAwIw
GzEZMBcGA1UEAwwQYXBpLnBhcnRuZXIudGVzdDAgFw0yNjExMjAxMDEwNDZaGA8y
MTI2MTAyNzEwMTA0NlowGzEZMBcGA1UEAwwQYXBpLnBhcnRuZXIudGVzdDBZMBMG
ByqGSM49AgEGCCqGSM49AwEHA0IABBWq+mo1T6xcescpSIh+SShYBkAEy9W7n1Iw
WCH60s7Zv2MhfH39rR5pMg+c4Gp+BfJKoxIx1XTgA8M3+ZrKOs6jgYEwfzAdBgNV
HQ4EFgQUL3tjAUgxSBXg3QGGDRgLwIdFimkwHwYDVR0jBBgwFoAUL3tjAUgxSBXg
3QGGDRgLwIdFimkwDwYDVR0TAQH/BAUwAwEB/zAsBgNVHREEJTAjghBhcGkucGFy
dG5lci50ZXN0gglsb2NhbGhvc3SHBH8AAAEwCgYIKoZIzj0EAwIDRwAwRAIgTNY4
hSF76jfdUoOyA5aiU6V/UiRKP48AUGs9Af9DV+wCICMv3SmhQbi1eRr45CRF2uer
eqpjRdSukzimrNVeFxjh
-----END CERTIFICATE-----
`;

/** Its key. It protects nothing. */
export const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgMe3McU5pKSvQ6Tmb
t5GvxF+KOmYByfhWiW4IpBTOIAihRANCAAQVqvpqNU+sXHrHKUiIfkkoWAZABMvV
u59SMFgh+tLO2b9jIXx9/a0eaTIPnOBqfgXySqMSMdV04APDN/mayjrO
-----END PRIVATE KEY-----
`;

/** The environment of a process that trusts the certificate. Node.js reads it only when a process starts. */
export function trustCertificate(): { readonly NODE_EXTRA_CA_CERTS: string } {
  return { NODE_EXTRA_CA_CERTS: write('authority.pem', CERTIFICATE) };
}
