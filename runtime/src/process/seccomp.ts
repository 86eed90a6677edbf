import { NEWEST_SYSTEM_CALL, type SystemCall, systemCalls } from './system-calls.ts'

/** Outcomes of a system call, as return values of a filter (`linux/seccomp.h`). */
const OUTCOMES = {
  allow: 0x7fff_0000,
  /** EPERM */
  refuse: 0x0005_0000 | 1,
  /** ENOSYS: programs use an older call instead. */
  missing: 0x0005_0000 | 38,
  /** EAFNOSUPPORT */
  noSuchFamily: 0x0005_0000 | 97,
  /** EOPNOTSUPP: programs work without the call. */
  unsupported: 0x0005_0000 | 95,
  kill: 0x8000_0000,
} as const

type Outcome = keyof typeof OUTCOMES

/** Codes of classic BPF (`linux/filter.h`). `bits`: the loaded value and the constant have a bit in common. */
const COMPARISONS = { equals: 0x15, differs: 0x15, above: 0x25, bits: 0x45 } as const
const [LOAD_WORD, RETURN] = [0x20, 0x06]

type Step =
  /** Loads 32 bits at this offset of `struct seccomp_data`. */
  | { load: number }
  /** Ends with the outcome if the loaded value matches. */
  | { if: keyof typeof COMPARISONS; value: number; result: Outcome }
  /** Skips the next steps if the loaded value is different. */
  | { unless: number; skip: number }
  | { result: Outcome }

/** Offsets in `struct seccomp_data`. Arguments have 64 bits, of which the filtered calls use the lower half. */
const [NUMBER, MACHINE, FIRST_ARGUMENT, SECOND_ARGUMENT] = [0, 4, 16, 24]

const MACHINES: Partial<Record<NodeJS.Architecture, { audit: number; column: 0 | 1 }>> = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
}

/** Flags of clone(2) and unshare(2) that create a namespace: mount, cgroup, UTS, IPC, user, PID, network. */
const NAMESPACES = 0x7e02_0000
/** A flag of unshare(2) only: clone(2) has a signal in these bits. */
const TIME_NAMESPACE = 0x80

/**
 * Unspecified, Unix, IPv4, IPv6, netlink (lists network interfaces). Other families have a history of vulnerabilities; vsock ignores
 * network namespaces.
 */
const SOCKET_FAMILIES = [0, 1, 2, 10, 16]

/** Flags of fallocate(2). A hole needs both: it frees space without changing the size of the file. */
const [KEEP_SIZE, PUNCH_HOLE] = [0x01, 0x02]
/** Commands of ioctl(2) that do the same as fallocate(2) with KEEP_SIZE: FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE. */
const ALLOCATIONS = [0x4030_5828, 0x4030_582a, 0x4030_5839]

/**
 * Commands of ioctl(2) that create a subvolume or snapshot of btrfs, which every user may, and which no quota limits:
 * BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SUBVOL_CREATE, and both in version 2.
 */
const SUBVOLUMES = [0x5000_9401, 0x5000_940e, 0x5000_9417, 0x5000_9418]

/** Calls that depend on one of their arguments. */
type RestrictedCall = 'clone' | 'unshare' | 'socket' | 'fallocate' | 'ioctl'

/** Calls that need special rules. */
const SPECIAL: ReadonlySet<string> = new Set<SystemCall>(['clone', 'clone3', 'unshare', 'socket', 'fallocate', 'ioctl'])

/**
 * Returns the filter of system calls for programs of squids, in the binary form that bubblewrap loads (`--seccomp`). It refuses the
 * calls that squids do not need and with which escapes from containers begin. Null for machines other than x86-64 and arm64.
 */
export function seccompFilter(machine: NodeJS.Architecture = process.arch): Buffer | null {
  const found = MACHINES[machine]
  if (!found) return null
  const { audit, column } = found
  const refused = Object.entries(systemCalls).flatMap(([call, numbers]) =>
    SPECIAL.has(call) || numbers[column] === null ? [] : [numbers[column]],
  )
  const byArgument = (offset: number, call: RestrictedCall, steps: Step[]): Step[] => [
    { unless: systemCalls[call][column], skip: steps.length + 1 },
    { load: offset },
    ...steps,
  ]
  return assemble([
    { load: MACHINE },
    // Programs of another machine (32 bits) have other numbers.
    { if: 'differs', value: audit, result: 'kill' },
    { load: NUMBER },
    // Calls that were added to the kernel later, and those of the x32 ABI.
    { if: 'above', value: NEWEST_SYSTEM_CALL, result: 'missing' },
    // The flags of clone3 are in memory, which a filter cannot read. The C library uses clone instead.
    { if: 'equals', value: systemCalls.clone3[column], result: 'missing' },
    ...byArgument(FIRST_ARGUMENT, 'clone', [{ if: 'bits', value: NAMESPACES, result: 'refuse' }, { result: 'allow' }]),
    ...byArgument(FIRST_ARGUMENT, 'unshare', [
      { if: 'bits', value: NAMESPACES | TIME_NAMESPACE, result: 'refuse' },
      { result: 'allow' },
    ]),
    ...byArgument(FIRST_ARGUMENT, 'socket', [
      ...SOCKET_FAMILIES.map((value): Step => ({ if: 'equals', value, result: 'allow' })),
      { result: 'noSuchFamily' },
    ]),
    // The only limit of a log is the one on file sizes, which does not count space that is allocated beyond the end of a file.
    ...byArgument(SECOND_ARGUMENT, 'fallocate', [
      { if: 'bits', value: PUNCH_HOLE, result: 'allow' },
      { if: 'bits', value: KEEP_SIZE, result: 'unsupported' },
      { result: 'allow' },
    ]),
    ...byArgument(SECOND_ARGUMENT, 'ioctl', [
      ...ALLOCATIONS.map((value): Step => ({ if: 'equals', value, result: 'unsupported' })),
      ...SUBVOLUMES.map((value): Step => ({ if: 'equals', value, result: 'refuse' })),
      { result: 'allow' },
    ]),
    ...refused.map((value): Step => ({ if: 'equals', value, result: 'refuse' })),
    { result: 'allow' },
  ])
}

/** Encodes the steps, followed by one return instruction for each outcome, to which the conditions jump. */
function assemble(steps: Step[]): Buffer {
  const outcomes = Object.keys(OUTCOMES) as Outcome[]
  const distance = (from: number, outcome: Outcome) => steps.length + outcomes.indexOf(outcome) - (from + 1)
  const encoded = steps.map((step, index) => {
    if ('load' in step) return instruction(LOAD_WORD, step.load)
    if ('skip' in step) return instruction(COMPARISONS.equals, step.unless, { ifFalse: step.skip })
    if (!('if' in step)) return instruction(RETURN, OUTCOMES[step.result])
    const jump = distance(index, step.result)
    return instruction(COMPARISONS[step.if], step.value, step.if === 'differs' ? { ifFalse: jump } : { ifTrue: jump })
  })
  return Buffer.concat([...encoded, ...outcomes.map((outcome) => instruction(RETURN, OUTCOMES[outcome]))])
}

/** `ifTrue`, `ifFalse`: number of instructions to skip. @throws RangeError above 255 */
function instruction(code: number, value: number, { ifTrue = 0, ifFalse = 0 } = {}): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(ifTrue, 2)
  bytes.writeUInt8(ifFalse, 3)
  bytes.writeUInt32LE(value >>> 0, 4)
  return bytes
}
