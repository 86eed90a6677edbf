import type { App } from '../app.ts'
import { outboxUrl } from '../mail/index.ts'
import { shoalCommand } from '../installation/version.ts'

/** Returns the text that is printed when the server is ready: URLs and next commands, or the roles of a server that lacks some. */
export function startupText(
  { config, outboxKey }: Pick<App, 'config' | 'outboxKey'>,
  startedInMs: number,
  healthUrl: string | null = null,
): string {
  const ready = `\n  Shoal is ready after ${(startedInMs / 1000).toFixed(1)} s.\n`
  const health = healthUrl ? `  Health            ${healthUrl}/readyz\n` : ''
  const hasAllRoles = new Set(config.SHOAL_ROLES).size === 3
  if (!hasAllRoles) return `${ready}\n  Roles             ${config.SHOAL_ROLES.join(', ')}\n${health}`
  const api = `${config.publicUrl}/api`
  return `${ready}
  Console and API   ${config.publicUrl}
  Gateway           ${config.gatewayUrl}
  Documentation     ${config.publicUrl}/docs/
  API reference     ${api}/docs
${health}${outboxKey === null ? '' : outboxText(`${outboxUrl(config)}?key=${outboxKey}`)}${config.SHOAL_TERMS_URL ? '' : termsText(config.publicUrl)}
  Sign up in the console, or create a user and a token here:
    ${shoalCommand()} user add --email me@example.com --name Me
    ${shoalCommand()} token add --email me@example.com --name laptop
  Then deploy with the public client:
    npm i -g @subsquid/cli@3.2.3 joi@17.13.3
    sqd auth -k <token> -h ${api}

  Ctrl-C stops ${config.SHOAL_ON_EXIT === 'stop' ? 'everything' : 'the server; the squids keep running'}.
`
}

const termsText = (publicUrl: string) => `
  Users accept terms of service when they sign up. SHOAL_TERMS_URL is not set, so these are the plain text at ${publicUrl}/docs/terms.
`

const outboxText = (url: string) => `
  Emails are not sent, because SHOAL_MAIL_URL is not set. Read them, with the links that confirm new accounts, here:
    ${url}
  The key in this URL gives access to every account. It changes at every start.
`
