import type { App } from '../app.ts'
import type { ProgressReporter } from '../backup/progress.ts'
import type { Config } from '../config/config.ts'
import { shoalCommand } from '../installation/version.ts'
import type { CliOptions } from './commands.ts'

export type Result = Promise<Record<string, unknown>>

/** A command of the operator. `positional`: the option whose value may follow the command without its name. */
export type Command = {
  options: string[]
  optional?: string[]
  flags?: string[]
  positional?: 'email'
  summary: string
} & (
  | { run: (app: App, values: CliOptions) => Result }
  /** The command runs without `openApp`: it opens the database itself, or requires that no process uses the database. */
  | { runOnFiles: (config: Config, options: FileOptions) => Result }
  /** The command prints in its own format, and sets the exit code. */
  | { report: (config: Config, isJson: boolean) => Promise<{ text: string; exitCode: number }> }
)

type FileOptions = Record<'to' | 'from', string> & {
  withKeys: boolean
  force: boolean
  dryRun: boolean
  pushImages: boolean
  progress: ProgressReporter
  signal: AbortSignal
}

const argumentsOf = ({ options, optional = [], flags = [] }: Command) =>
  [...options.map((o) => `--${o}`), ...[...optional, ...flags].map((f) => `[--${f}]`)].join(' ')

/** Returns the text that lists all commands. */
export const usage = (commands: Record<string, Command>): string =>
  `${shoalCommand()} <command> [--json]\n\n${Object.entries(commands)
    .map(([name, c]) => `  ${`${name} ${argumentsOf(c)}`.padEnd(44)} ${c.summary}\n`)
    .join('')}`
