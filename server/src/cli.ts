import { orgStatuses } from '@shoal/contract'
import { parseArgs } from 'node:util'
import type { App } from './app.ts'
import { backUp } from './backup/backup.ts'
import { createProgressReporter } from './backup/progress.ts'
import { restore } from './backup/restore.ts'
import { trustAuthorities } from './config/ca-file.ts'
import type { Config } from './config/config.ts'
import {
  accountCommands,
  addOrgWithAdmin,
  revokeCertificate,
  setOrgDiscount,
  setOrgBillingStatus,
  type CliOptions,
} from './cli/commands.ts'
import { usage, type Command, type Result } from './cli/command.ts'
import { postgresCommands, postgresOptions } from './cli/postgres.ts'
import { listOrgs, listSquids, status } from './cli/lists.ts'
import { moveDatabases, moveRuntimeCommand } from './cli/move.ts'
import { readPassword } from './cli/read-password.ts'
import { moveLogsBack } from './modules/logs/index.ts'
import { releaseHost } from './installation/host-claim.ts'
import { revocationReasons } from './modules/certificates/index.ts'
import { configForCommand } from './installation/running-server.ts'
import { openApp } from './startup/open-app.ts'
import { dropOldKeys, rotateKey } from './sealing/rotate-key.ts'
import { safeText } from './db/safe-error.ts'
import { shoalVersion } from './installation/version.ts'

/** The commands of the operator. They work with or without a running server. */
const commands: Record<string, Command> = {
  ...accountCommands,
  'org add': {
    run: addOrgWithAdmin,
    options: ['code', 'name', 'email'],
    summary: 'create an organization; --email names its admin',
  },
  'org list': {
    run: listOrgs,
    options: [],
    optional: ['search'],
    summary: "list organizations with status, cost and use, as the operator's console does",
  },
  'squid list': {
    run: listSquids,
    options: [],
    optional: ['search'],
    summary: "list the versions of all organizations with their use, as the operator's console does",
  },
  'squid-database move': {
    run: moveDatabases,
    options: ['to'],
    optional: ['squid', 'from'],
    flags: ['estimate'],
    summary:
      'move the database of the version --squid organization/name@slot, or of all versions on the server --from, to the server --to; --estimate only measures and prints how long processors would not run',
  },
  'org set-status': {
    run: setOrgBillingStatus,
    options: ['code', 'status'],
    summary: `set the billing status: ${orgStatuses.join(', ')}`,
  },
  'org set-discount': {
    run: setOrgDiscount,
    options: ['code', 'percent'],
    summary: 'give an organization a discount on all its usage, in percent',
  },
  'secrets rotate-key': {
    run: rotateKey,
    options: [],
    summary: 'reseal all secrets with a new key, with or without a running server; the old key is kept',
  },
  'secrets drop-old-keys': {
    run: dropOldKeys,
    options: [],
    summary: 'delete the keys that no sealed value needs any more',
  },
  'logs move-back': {
    run: moveLogsBack,
    options: [],
    summary: 'move the logs from SHOAL_LOGS_DATABASE_URL back to the control plane, while no server runs',
  },
  'certificate revoke': {
    run: revokeCertificate,
    options: ['name'],
    optional: ['reason'],
    summary: `revoke the certificate of a name that Shoal ordered, and order a certificate with a new key; --reason: ${revocationReasons.join(', ')} (default: keyCompromise)`,
  },
  'host release': {
    run: releaseHost,
    options: [],
    summary:
      'allow a worker on another host or data directory to run the squids; a worker that still runs them stops them',
  },
  ...postgresCommands,
  doctor: {
    report: runDoctor,
    options: [],
    summary: 'check everything that this installation depends on, and show what to do; exits with 1 if a check failed',
  },
  status: {
    run: status,
    options: [],
    summary:
      "show health checks and numbers, and what the overview and the running deployments of the operator's console show",
  },
  backup: {
    runOnFiles: backUp,
    options: ['to'],
    flags: ['with-keys'],
    summary:
      'back up everything except the keys to a file, with or without a running server; --with-keys includes the keys',
  },
  restore: {
    runOnFiles: restore,
    options: ['from'],
    flags: ['force'],
    summary: 'restore a backup into an empty data directory; --force moves existing data aside',
  },
  ...moveRuntimeCommand,
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      email: { type: 'string' },
      name: { type: 'string' },
      password: { type: 'string' },
      'password-stdin': { type: 'boolean' },
      code: { type: 'string' },
      scope: { type: 'string' },
      reason: { type: 'string' },
      search: { type: 'string' },
      squid: { type: 'string' },
      estimate: { type: 'boolean' },
      status: { type: 'string' },
      percent: { type: 'string' },
      to: { type: 'string' },
      from: { type: 'string' },
      'with-keys': { type: 'boolean' },
      force: { type: 'boolean' },
      'dry-run': { type: 'boolean' },
      'push-images': { type: 'boolean' },
      ...postgresOptions,
      off: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
    },
  })
  if (values.version) {
    process.stdout.write(`${shoalVersion()}\n`)
    return 0
  }
  const withPositional = commands[positionals.slice(0, -1).join(' ')]
  if (withPositional?.positional) values[withPositional.positional] ??= positionals.pop()
  const command = commands[positionals.join(' ')]
  if (!command || values.help) {
    process.stdout.write(usage(commands))
    return values.help ? 0 : 2
  }
  const missing = command.options.filter((o) => !values[o as keyof typeof values])
  if (missing.length > 0) throw new Error(`Missing: ${missing.map((m) => `--${m}`).join(', ')}`)
  if (values.password !== undefined)
    throw new Error('Every user of this host could read --password in the list of processes. Use --password-stdin.')
  if (values['password-stdin']) values.password = await readPassword({ input: process.stdin, prompts: process.stderr })
  if ('report' in command) {
    const { text, exitCode } = await command.report(loadCommandConfig(), values.json ?? false)
    process.stdout.write(text)
    return exitCode
  }
  const result =
    'runOnFiles' in command
      ? await command.runOnFiles(loadCommandConfig(), {
          to: values.to ?? '',
          from: values.from ?? '',
          withKeys: values['with-keys'] ?? false,
          force: values.force ?? false,
          dryRun: values['dry-run'] ?? false,
          pushImages: values['push-images'] ?? false,
          progress: createProgressReporter((line) => process.stderr.write(`${line}\n`)),
          signal: stopSignal(),
        })
      : await runWithApp(command.run, values as CliOptions)
  process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : formatResult(result))
  return 0
}

async function runDoctor(config: Config, isJson: boolean): Promise<{ text: string; exitCode: number }> {
  // Only this command needs the modules that the checks use.
  const { examine, formatReport } = await import('./doctor/doctor.ts')
  const report = await examine(config)
  return {
    text: isJson ? `${JSON.stringify(report)}\n` : formatReport(report),
    exitCode: report.status === 'failed' ? 1 : 0,
  }
}

/** Reads the configuration, and prints to standard error, so that standard output stays valid JSON. */
function loadCommandConfig(): Config {
  const config = configForCommand((line) => process.stderr.write(`${line}\n`))
  trustAuthorities(config)
  return config
}

async function runWithApp(run: (app: App, values: CliOptions) => Result, values: CliOptions): Result {
  const opened = await openApp({ ...loadCommandConfig(), SHOAL_LOG_LEVEL: 'warn', SHOAL_RUNTIME: 'sim' })
  try {
    return await run(opened.app, values)
  } finally {
    await opened.close('as-found')
  }
}

/** Formats the result of a command for a terminal, one line per field. */
const formatResult = (result: Record<string, unknown>): string =>
  Object.entries(result)
    .map(([key, value]) => `${key.padEnd(14)} ${formatValue(value)}\n`)
    .join('')

function formatValue(value: unknown): string {
  if (Array.isArray(value) && value.length > 0)
    return value.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join(`\n${' '.repeat(15)}`)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Aborts on SIGINT and SIGTERM, so that commands can clean up. npm forwards the Ctrl-C of a terminal, so a signal may arrive twice. */
function stopSignal(): AbortSignal {
  const stopController = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => stopController.abort(new Error('Interrupted: nothing was changed.')))
  return stopController.signal
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${safeText(error)}\n`)
  process.exitCode = 1
}
