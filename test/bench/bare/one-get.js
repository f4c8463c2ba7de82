import { get } from 'node:http';

// The minimal program for one list. @param argv the path
get(
  `${process.env.PARTNER_BASE_URL}${process.argv[2]}`,
  { headers: { authorization: `Bearer ${process.env.PARTNER_TOKEN}` } },
  (response) => {
    let body = '';
    response.on('data', (chunk) => {
      body += chunk;
    });
    response.on('end', () => {
      process.stdout.write(`${JSON.stringify(JSON.parse(body))}\n`);
    });
  },
);
