import { orgStatuses } from '@shoal/contract'
import { parseArgs } from 'node:util'
import type { App } from './app.ts'
import { backUp } from './backup/backup.ts'
import { startProgress, type Progress } from './backup/progress.ts'
import { restore } from './backup/restore.ts'
import type { Config } from './config/config.ts'
import {
  addOrg,
  addToken,
  addUser,
  setOrgDiscount,
  setOrgBillingStatus,
  status,
  type CliOptions,
} from './cli-commands.ts'
import { releaseHost } from './installation/host-claim.ts'
import { configForCommand } from './installation/running-server.ts'
import { openApp } from './startup/open-app.ts'
import { dropOldKeys, rotateKey } from './sealing/rotate-key.ts'
import { safeText } from './db/safe-error.ts'

type Answer = Promise<Record<string, unknown>>
type Command = { options: string[]; flags?: string[]; does: string } & (
  | { run: (app: App, values: CliOptions) => Answer }
  /** Needs no open database, or none may be open. */
  | { runOnFiles: (config: Config, options: FileOptions) => Answer }
)
type FileOptions = {
  to: string
  from: string
  withKeys: boolean
  force: boolean
  progress: Progress
  signal: AbortSignal
}

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
    run: setOrgBillingStatus,
    options: ['code', 'status'],
    does: `set the billing status: ${orgStatuses.join(', ')}`,
  },
  'org set-discount': {
    run: setOrgDiscount,
    options: ['code', 'percent'],
    does: 'give an organization a discount on all it uses, in percent',
  },
  'secrets rotate-key': {
    run: rotateKey,
    options: [],
    does: 'seal everything with a new key, beside a running server; the old one still opens',
  },
  'secrets drop-old-keys': { run: dropOldKeys, options: [], does: 'forget keys that nothing is sealed with any more' },
  'host release': {
    run: releaseHost,
    options: [],
    does: 'let the worker of another host or data directory run the squids; a worker that still runs them stops them',
  },
  status: { run: status, options: [], does: 'what runs, what waits, what is wrong' },
  backup: {
    runOnFiles: backUp,
    options: ['to'],
    flags: ['with-keys'],
    does: 'copy everything but the keys into a file, beside a running server; --with-keys takes them too',
  },
  restore: {
    runOnFiles: restore,
    options: ['from'],
    flags: ['force'],
    does: 'make an empty data directory what a backup holds; --force moves aside what is there',
  },
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
      to: { type: 'string' },
      from: { type: 'string' },
      'with-keys': { type: 'boolean' },
      force: { type: 'boolean' },
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
  const answer =
    'runOnFiles' in command
      ? await command.runOnFiles(commandConfig(), {
          to: values.to ?? '',
          from: values.from ?? '',
          withKeys: values['with-keys'] ?? false,
          force: values.force ?? false,
          progress: startProgress((line) => process.stderr.write(`${line}\n`)),
          signal: untilStopRequested(),
        })
      : await runOpened(command.run, values as CliOptions)
  process.stdout.write(values.json ? `${JSON.stringify(answer)}\n` : readable(answer))
  return 0
}

/** What is written to standard error does not disturb who reads JSON. */
const commandConfig = () => configForCommand((line) => process.stderr.write(`${line}\n`))

async function runOpened(run: (app: App, values: CliOptions) => Answer, values: CliOptions): Answer {
  const opened = await openApp({ ...commandConfig(), SHOAL_LOG_LEVEL: 'warn', SHOAL_RUNTIME: 'sim' })
  try {
    return await run(opened.app, values)
  } finally {
    await opened.close('as-found')
  }
}

/** Aborted by Ctrl-C and the like, so that nothing half-made is left. npm passes on what the terminal has sent already: twice is once. */
function untilStopRequested(): AbortSignal {
  const told = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => told.abort(new Error('Interrupted: nothing was changed.')))
  return told.signal
}

const readable = (answer: Record<string, unknown>) =>
  Object.entries(answer)
    .map(([key, value]) => `${key.padEnd(14)} ${spelled(value)}\n`)
    .join('')

function spelled(value: unknown): string {
  const isLines = Array.isArray(value) && value.length > 0 && value.every((line) => typeof line === 'string')
  if (isLines) return value.join(`\n${' '.repeat(15)}`)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const wordsOf = ({ options, flags = [] }: Command) =>
  [...options.map((o) => `--${o}`), ...flags.map((f) => `[--${f}]`)].join(' ')

const usage = () =>
  `npm run -s shoal -- <command> [--json]\n\n${Object.entries(commands)
    .map(([name, c]) => `  ${`${name} ${wordsOf(c)}`.padEnd(44)} ${c.does}\n`)
    .join('')}`

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${safeText(error)}\n`)
  process.exitCode = 1
}
