import { orgStatuses } from '@shoal/contract'
import { parseArgs } from 'node:util'
import type { App } from './app.ts'
import { loadConfig } from './config.ts'
import { addOrg, addToken, addUser, discount, setStatus, status, type Values } from './cli-commands.ts'
import { openApp } from './open-app.ts'
import { dropOldKeys, rotateKey } from './rotate-key.ts'

type Command = { run: (app: App, values: Values) => Promise<Record<string, unknown>>; options: string[]; does: string }

/** The operator's command line (design 6). It works on the database, beside a running server or without one. */
const commands: Record<string, Command> = {
  'user add': {
    run: addUser,
    options: ['email', 'name', 'password'],
    does: 'make a user with a confirmed email, and a playground',
  },
  'token add': { run: addToken, options: ['email', 'name'], does: 'make an API token of a user and print it' },
  'org add': { run: addOrg, options: ['code', 'name', 'email'], does: 'make an organization; --email names its admin' },
  'org set-status': {
    run: setStatus,
    options: ['code', 'status'],
    does: `set the billing status: ${orgStatuses.join(', ')}`,
  },
  'org set-discount': {
    run: discount,
    options: ['code', 'percent'],
    does: 'give an organization a discount on all it uses, in percent',
  },
  'secrets rotate-key': {
    run: rotateKey,
    options: [],
    does: 'seal everything with a new key, beside a running server; the old one still opens',
  },
  'secrets drop-old-keys': { run: dropOldKeys, options: [], does: 'forget keys that nothing is sealed with any more' },
  status: { run: status, options: [], does: 'what runs, what waits, what is wrong' },
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      email: { type: 'string' },
      name: { type: 'string' },
      password: { type: 'string' },
      code: { type: 'string' },
      status: { type: 'string' },
      percent: { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  })
  const command = commands[positionals.join(' ')]
  if (!command || values.help) {
    process.stdout.write(usage())
    return values.help ? 0 : 2
  }
  const missing = command.options.filter((o) => o !== 'password' && !values[o as keyof typeof values])
  if (missing.length > 0) throw new Error(`Missing: ${missing.map((m) => `--${m}`).join(', ')}`)
  const opened = await openApp({ ...loadConfig(), SHOAL_LOG_LEVEL: 'warn', SHOAL_RUNTIME: 'sim' })
  try {
    const answer = await command.run(opened.app, values as Values)
    process.stdout.write(values.json ? `${JSON.stringify(answer)}\n` : readable(answer))
    return 0
  } finally {
    await opened.closeConnections()
  }
}

const readable = (answer: Record<string, unknown>) =>
  Object.entries(answer)
    .map(([key, value]) => `${key.padEnd(14)} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}\n`)
    .join('')

const usage = () =>
  `npm run -s shoal -- <command> [--json]\n\n${Object.entries(commands)
    .map(([name, c]) => `  ${`${name} ${c.options.map((o) => `--${o}`).join(' ')}`.padEnd(44)} ${c.does}\n`)
    .join('')}`

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
