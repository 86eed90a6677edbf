import type { Config } from '../config/config.ts'

/** The text printed when the server is ready: its addresses and the next commands; for a process with some roles only, the roles. */
export function startupText(config: Config, startedInMs: number, healthUrl: string | null = null): string {
  const ready = `\n  Shoal is ready after ${(startedInMs / 1000).toFixed(1)} s.\n`
  const health = healthUrl ? `  Health            ${healthUrl}/readyz\n` : ''
  const hasAllRoles = new Set(config.SHOAL_ROLES).size === 3
  if (!hasAllRoles) return `${ready}\n  Roles             ${config.SHOAL_ROLES.join(', ')}\n${health}`
  const api = `${config.publicUrl}/api`
  return `${ready}
  Console and API   ${config.publicUrl}
  Gateway           ${config.gatewayUrl}
  API reference     ${api}/docs
${health}${config.SHOAL_OUTBOX ? `  Outbox            ${config.publicUrl}/outbox   (mails that would have been sent)\n` : ''}${config.SHOAL_TERMS_URL ? '' : '\n  Users accept terms of service when they sign up, but this installation has none: set SHOAL_TERMS_URL.\n'}
  Sign up in the console, or create a user and a token here:
    npm run -s shoal -- user add --email me@example.com --name Me --password <password>
    npm run -s shoal -- token add --email me@example.com --name laptop
  Then deploy with the public client:
    npm i -g @subsquid/cli@3.2.3 joi@17.13.3
    sqd auth -k <token> -h ${api}

  Ctrl-C stops ${config.SHOAL_ON_EXIT === 'stop' ? 'everything' : 'the server; the squids keep running'}.
`
}
