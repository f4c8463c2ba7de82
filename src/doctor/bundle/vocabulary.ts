/** Words that reveal nothing about a customer: statuses, errors, roles, paging, media types, gateway pages. Lower case. */
const WORDS = `
a about above accept accepted access account action active activate activated actor additional admin after again agent agents
ai all allow allowed already also am an and answer any api app application are array as asc ask assistant assistants at
attachment attachments attempt audio auth authenticate authentication authorization authorize authorized auto automation
available average away back bad balance base be because been before begin being below between bigint body boolean bot bots
bearer but by bytes call caller calls can cannot cancel canceled cancelled center change changed char charset chat check
cidr cidrs class client closed code cold collection column completed condition conflict connection contact contain contains
content context control correct could count create created creation credentials cron css cursor customer data database date
day days debug declined default delete deleted delivered denied deprecated desc description detail details did different
direction disabled div do doctype document documents does doing domain done down draft due duplicate during each edge
either email empty enabled encoded encoding end endpoint enough entity enum environment error errors event every exceed
exceeded exceeds except exist existing exists expected expired expires external fail failed failure false fatal fault feature
few field fields file files filter final finished first float for forbidden form format found from full function gateway
general get give given go gone got group guest had hal has have head header headers height helper here high history host hour
hours how hr href html http https human id identifier if image immediately in inactive inbound inbox incoming incorrect
index info information inner input insufficient instead integer integration integrations internal into invalid ip is issue
it item items its job jobs json jsonapi just key keys kind know label language last later latest ld least length less level
like limit limited limits line link links list live load locked long low lower machine maintenance malformed manager many
match matches max maximum may me media member message messages meta method min minimum minute minutes missing model module
month months more most move moved multipart must my name need needed needs network never new next nginx no nobody node none
normal not nothing notice null number object occurred octet of off offset ok old on once one only open openresty operation
operations operator option optional or order org organization organisation other our out outbound outgoing over own owner
page pages paging param parameter parameters parse part partner pass patch path pattern paused payload pending per
perform permanent permission permissions permitted plain please policy position post preview previous private problem problems
process processed processing profile properties property protected provide provided provision proxy public put queued quota
rate raw reached read reader reads reason received record records refresh refused register rejected related remaining remote
remove removed replace reply request requested requests require required requires reset resource resources response result results
resume retry return returned right role roles root route router routing row rows run running runtime same schedule scheduled
schema scope scopes script search second seconds security see self send sender sent server servers service services session
sessions set settings setup shape short should show signature since size skip so some something soon sort source sources space
spaces staff standard start started state status step still stop stopped stream string style success successful suffix
support supported suspended syntax system table target team temporarily temporary template templates text than that the their
them then there these they this those through time timeout times timezone timestamp title to today token tokens too topic total
tracking traceback trigger true try type types unauthenticated unauthorized unavailable unable under undefined unexpected unique unit
unknown unless unprocessable unprovisioned unrecognized unsupported until up update updated upgrade upload uploads upstream uri
url usage usd use used user users utc utf uuid valid validate validation value values varnish version very via view visitor vnd
wait waiting want warning was way we web webhook webhooks week weeks well went were what when where which while who why will
window with within without workflow workflows working workspace workspaces worker would write writes wrong www xhtml xml year years
yes yet yml progress ready archived trial expiring store cache age sniff nosniff revalidate you your zero zone
mon tue wed thu fri sat sun jan feb mar apr jun jul aug sep oct nov dec gmt
`;

const KNOWN: ReadonlySet<string> = new Set(WORDS.trim().split(/\s+/));

/** Whether a run of letters consists of service words only: `InvalidToken`, `forbidden`. */
export function isServiceWord(run: string): boolean {
  const humps = run.split(/(?<=\p{Ll})(?=\p{Lu})/u);
  return humps.every((hump) => KNOWN.has(hump.toLowerCase()));
}
