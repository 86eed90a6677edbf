import type { Config } from './config.ts'

/** What `npm start` prints when it is ready: where everything is, and the next three commands. */
export function startupText(config: Config, startedInMs: number): string {
  const api = `${config.publicUrl}/api`
  return `
  Shoal is ready after ${(startedInMs / 1000).toFixed(1)} s.

  Console and API   ${config.publicUrl}
  Gateway           ${config.gatewayUrl}
  API reference     ${api}/docs
${config.SHOAL_OUTBOX ? `  Outbox            ${config.publicUrl}/outbox   (mails that would have been sent)\n` : ''}${config.SHOAL_TERMS_URL ? '' : '\n  People who sign up accept terms of service, and this installation links to none: set SHOAL_TERMS_URL.\n'}
  Sign up in the console, or make a user and a token here:
    npm run -s shoal -- user add --email me@example.com --name Me --password <password>
    npm run -s shoal -- token add --email me@example.com --name laptop
  Then deploy with the public client:
    npm i -g @subsquid/cli@3.2.3 joi@17.13.3
    sqd auth -k <token> -h ${api}

  Ctrl-C stops everything.
`
}
