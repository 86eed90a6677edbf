import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { prepareHost, type Host } from './host.ts'
import { runIsolated } from './isolated-program.ts'
import { PLAIN_ENV } from './sandbox.ts'
import { seccompFilter } from './seccomp.ts'
import { NEWEST_SYSTEM_CALL, type SystemCall, systemCalls } from './system-calls.ts'

const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97
const EOPNOTSUPP = 95
const EBADF = 9
const [KEEP_SIZE, PUNCH_HOLE, FS_IOC_RESVSP] = [1, 2, 0x4030_5828]
const isRoot = process.getuid?.() === 0
const column = process.arch === 'arm64' ? 1 : 0
const hasPerl = existsSync('/usr/bin/perl')
const calls = (Object.keys(systemCalls) as SystemCall[]).filter((call) => systemCalls[call][column] !== null)

/** A program that makes system calls and prints a line with the errno of each; 0: it succeeded. Child processes of `clone` exit. */
const perlProgram = (attempts: { number: number; args: (number | string)[] }[]) =>
  attempts
    .map(({ number, args }) => {
      const list = [number, ...args].join(', ')
      return `$r = syscall(${list}); POSIX::_exit(0) if $r == 0 && $$ != $pid; print(($r == -1 ? $!+0 : 0), "\\n");`
    })
    .reduce((program, line) => program + line, '$| = 1; require POSIX; $pid = $$; $buffer = "\\0" x 4096; ')

async function openHost(): Promise<Host> {
  const stateDir = mkdtempSync(join(tmpdir(), 'shoal-seccomp-'))
  onTestFinished(() => rmSync(stateDir, { recursive: true }))
  return prepareHost({ stateDir, limits: 'none', network: 'none', workFolders: 'links' })
}

test('the numbers of system calls agree with the kernel’s headers', ({ skip }) => {
  const headers = ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', '/usr/include/asm-generic/unistd.h']
  if (!headers.every((file) => existsSync(file))) skip('the headers of the kernel (linux-libc-dev) are not installed')
  const numbers = headers.map((file) => {
    const lines = readFileSync(file, 'utf8').matchAll(/^#define __NR(?:3264)?_(\w+)\s+(\d+)$/gm)
    return new Map([...lines].map(([, name = '', number]) => [name, Number(number)]))
  })
  const documented = Object.keys(systemCalls).map((call) => [call, numbers.map((found) => found.get(call) ?? null)])
  expect(Object.entries(systemCalls)).toEqual(documented)
})

test('a filter exists for x86-64 and arm64 only', () => {
  expect(seccompFilter('x64')?.length).toBeGreaterThan(8 * Object.keys(systemCalls).length)
  expect(seccompFilter('arm64')?.length).toBeGreaterThan(8 * 40)
  expect(seccompFilter('riscv64')).toBeNull()
})

test('with all privileges, every listed system call fails with the filter, and is allowed without it', async ({
  skip,
}) => {
  const { sandbox } = await openHost()
  if (!isRoot || !hasPerl || sandbox === 'none') skip('needs root, perl and bubblewrap')
  const dir = mkdtempSync(join(tmpdir(), 'shoal-seccomp-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const filterFile = join(dir, 'filter')
  writeFileSync(filterFile, seccompFilter() ?? '')
  // Arguments that are invalid for all calls, so that the calls change nothing.
  const args = [-1, -1, -1, -1, -1, -1]
  const argsOf: Partial<Record<SystemCall, number[]>> = {
    fallocate: [-1, KEEP_SIZE, 0, 1],
    ioctl: [-1, FS_IOC_RESVSP, 0],
  }
  const attempts = [
    ...calls.map((call) => ({ number: systemCalls[call][column] ?? 0, args: argsOf[call] ?? args })),
    { number: NEWEST_SYSTEM_CALL + 1, args },
  ]
  const namespaces = ['--unshare-pid', '--unshare-uts', '--unshare-ipc', '--new-session', '--die-with-parent']
  const errorsOf = (filter: string[]) => {
    const sandboxed = ['bwrap', ...filter, '--dev-bind', '/', '/', '--cap-add', 'ALL', ...namespaces]
    const command = [...sandboxed, 'perl', '-e', perlProgram(attempts)]
    const shell = ['-c', 'exec "$@" 9<"$0"', filterFile, ...command]
    const output = execFileSync('/bin/sh', shell, { env: PLAIN_ENV, encoding: 'utf8' })
    return output.trim().split('\n').map(Number)
  }
  const filtered = errorsOf(['--seccomp', '9'])
  const errors: Partial<Record<SystemCall, number>> = {
    clone3: ENOSYS,
    socket: EAFNOSUPPORT,
    fallocate: EOPNOTSUPP,
    ioctl: EOPNOTSUPP,
  }
  const expected = (call: SystemCall) => errors[call] ?? EPERM
  expect(calls.map((call, index) => [call, filtered[index]])).toEqual(calls.map((call) => [call, expected(call)]))
  expect(filtered.at(-1)).toBe(ENOSYS)
  const unfiltered = errorsOf([])
  const refusedAnyway = calls.filter((call, index) => unfiltered[index] === expected(call))
  expect(refusedAnyway).toEqual([])
})

test('a program in the sandbox cannot create namespaces or use risky parts of the kernel, as it could without the filter', async ({
  skip,
}) => {
  const host = await openHost()
  if (!hasPerl || host.sandbox === 'none') skip('needs perl and bubblewrap')
  const number = (call: SystemCall) => systemCalls[call][column] ?? 0
  const [SIGCHLD, NEW_USER, GET_KEYRING, SESSION_KEYRING] = [17, 0x1000_0000, 0, -3]
  const [PTRACE_ATTACH, NO_PROCESS, ESRCH] = [16, 4_000_000, 3]
  const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_ALG, AF_VSOCK] = [1, 2, 10, 16, 38, 40]
  const socket = (family: number) => ({ number: number('socket'), args: [family, family === AF_ALG ? 5 : 1, 0] })
  const attempts = {
    ptrace: { number: number('ptrace'), args: [PTRACE_ATTACH, NO_PROCESS, 0, 0] },
    'clone with a user namespace': { number: number('clone'), args: [NEW_USER | SIGCHLD, 0, 0, 0, 0] },
    'unshare with a user namespace': { number: number('unshare'), args: [NEW_USER] },
    keyctl: { number: number('keyctl'), args: [GET_KEYRING, SESSION_KEYRING, 1] },
    io_uring: { number: number('io_uring_setup'), args: [1, '$buffer'] },
    'socket of the kernel’s ciphers': socket(AF_ALG),
    'socket of virtual machines': socket(AF_VSOCK),
    'Unix socket': socket(AF_UNIX),
    'IPv4 socket': socket(AF_INET),
    'IPv6 socket': socket(AF_INET6),
    'netlink socket': { number: number('socket'), args: [AF_NETLINK, 3, 0] },
    'clone of a process': { number: number('clone'), args: [SIGCHLD, 0, 0, 0, 0] },
    'space beyond the end of a file': { number: number('fallocate'), args: [-1, KEEP_SIZE, 0, 1] },
    'space by ioctl': { number: number('ioctl'), args: [-1, FS_IOC_RESVSP, '$buffer'] },
    'a hole in a closed file': { number: number('fallocate'), args: [-1, KEEP_SIZE | PUNCH_HOLE, 0, 1] },
  }
  const run = async (filterFile: string | null) => {
    const lines: string[] = []
    const { exitCode } = await runIsolated(
      { ...host, bwrapFeatures: { ...host.bwrapFeatures, filterFile } },
      {
        name: 'box-1',
        command: ['perl', '-e', perlProgram(Object.values(attempts))],
        env: { PATH: '/usr/bin:/bin' },
        cwd: '/',
        uid: host.uidOf('tenant'),
        readableDirs: [],
        writableDirs: [],
        maxFileBytes: null,
        resources: { cpuCores: 1, memoryBytes: 256 * 1024 * 1024 },
        timeMs: 10_000,
        signal: new AbortController().signal,
        onLine: (text) => lines.push(text),
      },
    )
    expect({ exitCode, lines: lines.length }).toEqual({ exitCode: 0, lines: Object.keys(attempts).length })
    return Object.fromEntries(Object.keys(attempts).map((name, index) => [name, Number(lines[index])]))
  }
  expect(host.bwrapFeatures.filterFile).not.toBeNull()
  const filtered = await run(host.bwrapFeatures.filterFile)
  const refused = {
    'clone with a user namespace': EPERM,
    'unshare with a user namespace': EPERM,
    ptrace: EPERM,
    keyctl: EPERM,
    io_uring: EPERM,
    'socket of the kernel’s ciphers': EAFNOSUPPORT,
    'socket of virtual machines': EAFNOSUPPORT,
    'space beyond the end of a file': EOPNOTSUPP,
    'space by ioctl': EOPNOTSUPP,
    'a hole in a closed file': EBADF,
  }
  const allowed = Object.fromEntries(Object.keys(attempts).map((name) => [name, 0]))
  expect(filtered).toEqual({ ...allowed, ...refused })
  // Without the filter, the kernel makes these calls. The others are not checked: kernels may lack the ciphers, vsock, keys or io_uring.
  const unfiltered = await run(null)
  expect(unfiltered).toMatchObject({
    'clone with a user namespace': 0,
    'unshare with a user namespace': 0,
    ptrace: ESRCH,
    'clone of a process': 0,
    'space beyond the end of a file': EBADF,
    'space by ioctl': EBADF,
  })
})
