/** Limits shared by server, console and tests, with their sources. */
export const limits = {
  // From spec 5 and 9:
  passwordMin: 8,
  passwordMax: 200,
  orgNameMin: 3,
  orgNameMax: 100,
  orgCodeMin: 3,
  orgCodeMax: 64,
  secretNameMax: 63,
  /** Half of the 128 KiB to which Linux limits an environment variable. */
  secretValueMax: 65_536,
  squidNameMin: 3,
  squidNameMax: 30,
  // From the public client, `sqd`:
  slotMin: 2,
  slotMax: 6,
  tagMin: 2,
  tagMax: 32,
  /** The playground's code must be valid for `sqd -r`. */
  playgroundCodeMax: 30,
  // From spec 9:
  playgroundSquids: 1,
  organizationSquids: 100,
  /** The console warns when the organization may create fewer than this many further squids. */
  squidsLeftWarning: 3,
  logsPageSize: 100,
  /** Some public tools for squids request pages of this size. */
  logsPageSizeMax: 10_000,
  deploymentsPageSize: 50,
  deploymentsPageSizeMax: 100,
  /** RPC requests of a playground in a calendar month. */
  playgroundRpcRequests: 500_000,
} as const
