import { parseArgs } from 'node:util'
import { install } from './install.ts'
import { uninstall } from './uninstall.ts'
import { upgrade } from './upgrade.ts'

const usage = `In the folder of a release:
bin/shoal install    install this release as a service; run it again to change settings
    --public-url URL     address of the console, as in https://shoal.example.com
    --gateway-url URL    address of squids, as in https://squids.example.com/{org}
    --mail-url URL       SMTP server, as in smtps://user:password@host
    --set NAME=VALUE     any other setting of docs/operate.md; can be repeated
    --user NAME          run as this user, which is created; default: root, because only root can give each squid its own user,
                         network and disk
    --no-start           prepare everything, but start nothing
bin/shoal upgrade    replace the installed release with this one; if this one does not become ready, start the old one
                     again
    --no-backup          do not back up first
    --timeout SECONDS    how long the new release may take to become ready; default: 120
In any folder:
shoal uninstall      stop everything and remove it, except data, settings and backups
Each accepts --dry-run, which prints what it would do and changes nothing.
`

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'public-url': { type: 'string' },
      'gateway-url': { type: 'string' },
      'mail-url': { type: 'string' },
      set: { type: 'string', multiple: true },
      user: { type: 'string' },
      'no-start': { type: 'boolean' },
      'no-backup': { type: 'boolean' },
      timeout: { type: 'string' },
      'dry-run': { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  const [command] = positionals
  if (values.help || positionals.length !== 1) return void process.stdout.write(usage)
  const isDry = values['dry-run'] ?? false
  if (!isDry && process.getuid?.() !== 0) throw new Error(`shoal ${command} changes the system: run it as root.`)
  const print = (line: string) => void process.stdout.write(`${line}\n`)
  if (command === 'install') {
    const settings = settingsOf({
      SHOAL_PUBLIC_URL: values['public-url'],
      SHOAL_GATEWAY_URL: values['gateway-url'],
      SHOAL_MAIL_URL: values['mail-url'],
      ...Object.fromEntries((values.set ?? []).map(parseSetting)),
    })
    await install({ user: values.user ?? null, settings, isDry, startsService: !values['no-start'], print })
  } else if (command === 'upgrade') {
    const maxStartMs = parseSeconds(values.timeout ?? '120') * 1000
    await upgrade({ backsUpFirst: !values['no-backup'], isDry, maxStartMs, print })
  } else if (command === 'uninstall') await uninstall({ isDry, print })
  else throw new Error(`Unknown command: ${command}. Commands: install, upgrade, uninstall`)
}

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (!(seconds > 0)) throw new Error(`--timeout ${text} must be a positive number of seconds.`)
  return seconds
}

function parseSetting(text: string): [string, string] {
  const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new Error(`--set ${text} must have the form NAME=VALUE.`)
  return [name, value]
}

/** Characters that a value must not contain, because systemd and the shell, which both read the settings file, would interpret them. */
const specialCharacters = /["\\$`\n]/

function settingsOf(values: Record<string, string | undefined>): Record<string, string> {
  const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const invalid = given.filter(([, value]) => specialCharacters.test(value)).map(([name]) => name)
  if (invalid.length > 0)
    throw new Error(`${invalid.join(', ')} must not contain double quotes, backslashes, backticks, $ or line breaks.`)
  return Object.fromEntries(given)
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exitCode = 1
}
