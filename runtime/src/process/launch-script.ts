/** A program to run, with its complete environment. */
export type Program = { command: string[]; env: Record<string, string>; cwd: string }

/** Variables that are special or read-only in some shells. */
const SHELLS_OWN = new Set(['OPTIND', 'PPID', 'UID', 'EUID', 'BASHOPTS', 'SHELLOPTS'])

const MARKER = 'SHOAL_BOX='

/** Adds a mark to the environment, by which the program is found without cgroups. */
export function markProgram(program: Program, mark: string): Program {
  return { ...program, env: { ...program.env, SHOAL_BOX: mark } }
}

/** The mark of a process, from its initial environment. */
export function markOf(environment: string[]): string | null {
  return environment.find((variable) => variable.startsWith(MARKER))?.slice(MARKER.length) ?? null
}

/**
 * Shell script that sets the environment and executes the program. The shell runs it as the container's user, after dropping all
 * privileges: an `LD_PRELOAD` of the user must not affect the programs that drop them, and secrets must not be visible in
 * argument lists.
 */
export function launchScript({ command, env, cwd }: Program): string {
  const isShellName = (name: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !SHELLS_OWN.has(name)
  const entries = Object.entries(env).filter(([name]) => name !== '' && !name.includes('='))
  const exports = entries.filter(([name]) => isShellName(name)).map(([name, value]) => `export ${name}=${quote(value)}`)
  const others = entries.filter(([name]) => !isShellName(name)).map(([name, value]) => quote(`${name}=${value}`))
  return [
    'umask 022',
    // No core dumps: they contain secrets and fill disks.
    'ulimit -c 0',
    // When the host runs out of memory, squids are killed before the server.
    'echo 500 2>/dev/null >/proc/self/oom_score_adj',
    ...exports,
    `cd -- ${quote(cwd)} || exit 126`,
    'unset OLDPWD',
    `exec ${[...(others.length > 0 ? ['env', ...others] : []), ...command.map(quote)].join(' ')} </dev/null`,
    '',
  ].join('\n')
}

/** Quotes one shell word. Removes NUL, which environments and arguments cannot contain. */
function quote(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`
}
