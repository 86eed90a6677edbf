/** A program to run, with its complete environment. */
export type Program = {
  command: string[]
  env: Record<string, string>
  cwd: string
  /** True: no program of another version or tenant has its uid. */
  ownsUid: boolean
  /** Maximum size of each file that the program writes (RLIMIT_FSIZE); null: unlimited. */
  maxFileBytes: number | null
}

/** Maximum number of open files of a process. Each uses memory of the kernel. */
const MAX_OPEN_FILES = 8192

/** Maximum number of processes and threads of a uid, which contains fork bombs on hosts without cgroups. The limit of a cgroup is lower. */
const MAX_PROCESSES = 2048

/** Variables that are special or read-only in some shells. */
const SHELL_VARIABLES = new Set(['OPTIND', 'PPID', 'UID', 'EUID', 'BASHOPTS', 'SHELLOPTS'])

const MARKER = 'SHOAL_BOX='

/** Adds a mark to the environment, by which the server finds the program's processes on hosts without cgroups. */
export function markProgram(program: Program, mark: string): Program {
  return { ...program, env: { ...program.env, SHOAL_BOX: mark } }
}

/** Returns the mark of a process from its initial environment; null if it has none. */
export function markOf(environment: string[]): string | null {
  return environment.find((variable) => variable.startsWith(MARKER))?.slice(MARKER.length) ?? null
}

/**
 * Returns a shell script that sets the environment and executes the program. A shell runs it as the container's user, without
 * privileges: an `LD_PRELOAD` of the squid must not affect the programs that drop privileges, and secrets must not be visible
 * in argument lists.
 */
export function launchScript({ command, env, cwd, ownsUid, maxFileBytes }: Program): string {
  const isShellName = (name: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !SHELL_VARIABLES.has(name)
  const entries = Object.entries(env).filter(([name]) => name !== '' && !name.includes('='))
  const exports = entries.filter(([name]) => isShellName(name)).map(([name, value]) => `export ${name}=${quote(value)}`)
  const others = entries.filter(([name]) => !isShellName(name)).map(([name, value]) => quote(`${name}=${value}`))
  return [
    'umask 022',
    // No core dumps: they contain secrets and fill disks.
    'ulimit -c 0',
    // Fails if the limit is already lower.
    `ulimit -n ${MAX_OPEN_FILES} 2>/dev/null`,
    // The shells of different distributions use different letters for this limit.
    ...(ownsUid ? [`ulimit -u ${MAX_PROCESSES} 2>/dev/null || ulimit -p ${MAX_PROCESSES} 2>/dev/null`] : []),
    // In blocks of 512 bytes. Beyond the limit, Node reports EFBIG, and SIGXFSZ ends other programs.
    ...(maxFileBytes === null ? [] : [`ulimit -f ${Math.ceil(maxFileBytes / 512)}`]),
    // When the host runs out of memory, the kernel kills squids before the server.
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
