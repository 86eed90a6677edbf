/** A program to run: nothing of our own environment reaches it. */
export type Program = { command: string[]; env: Record<string, string>; cwd: string }

/** Variables in which some shells take no value, or not any. */
const SHELLS_OWN = new Set(['OPTIND', 'PPID', 'UID', 'EUID', 'BASHOPTS', 'SHELLOPTS'])

const MARKER = 'SHOAL_BOX='

/** The program with a mark in its environment, by which it is found where there are no cgroups. */
export function markProgram(program: Program, mark: string): Program {
  return { ...program, env: { ...program.env, SHOAL_BOX: mark } }
}

/** The mark of a process, given the variables it was started with. */
export function markOf(environment: string[]): string | null {
  return environment.find((variable) => variable.startsWith(MARKER))?.slice(MARKER.length) ?? null
}

/**
 * Shell text that sets the environment and becomes the program. The shell reads it as the container's own user, after all
 * rights were dropped: an `LD_PRELOAD` among the user's variables must never act on the programs that drop them, and values
 * (passwords) must not stand in an argument list that others can read.
 */
export function launchScript({ command, env, cwd }: Program): string {
  const isShellName = (name: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !SHELLS_OWN.has(name)
  const entries = Object.entries(env).filter(([name]) => name !== '' && !name.includes('='))
  const exports = entries.filter(([name]) => isShellName(name)).map(([name, value]) => `export ${name}=${quote(value)}`)
  const others = entries.filter(([name]) => !isShellName(name)).map(([name, value]) => quote(`${name}=${value}`))
  return [
    'umask 022',
    // No core dumps: they hold secrets and fill disks.
    'ulimit -c 0',
    // When the host itself has no memory left, squids go before the server does.
    'echo 500 2>/dev/null >/proc/self/oom_score_adj',
    ...exports,
    `cd -- ${quote(cwd)} || exit 126`,
    'unset OLDPWD',
    `exec ${[...(others.length > 0 ? ['env', ...others] : []), ...command.map(quote)].join(' ')} </dev/null`,
    '',
  ].join('\n')
}

/** One word for the shell. NUL cannot stand in any program's environment or arguments. */
function quote(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`
}
