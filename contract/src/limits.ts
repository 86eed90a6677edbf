/** Numbers that more than one side must agree on, each with its source. */
export const limits = {
  /** Spec 5, 9. */
  passwordMin: 8,
  passwordMax: 200,
  orgNameMin: 3,
  orgNameMax: 100,
  orgCodeMin: 3,
  orgCodeMax: 64,
  secretNameMax: 63,
  /** An environment variable of Linux ends at 128 KiB; half of it leaves room. */
  secretValueMax: 65_536,
  squidNameMin: 3,
  squidNameMax: 30,
  /** Contract 3. */
  slotMin: 2,
  slotMax: 6,
  tagMin: 2,
  tagMax: 32,
  /** The playground's code must fit `sqd -r` (contract 3). */
  playgroundCodeMax: 30,
  /** Spec 9. */
  playgroundSquids: 1,
  organizationSquids: 100,
  squidsLeftWarning: 3,
  logsPageSize: 100,
  /** Public tooling asks for 10,000 (contract 2.6). */
  logsPageSizeMax: 10_000,
  deploymentsPageSize: 50,
  deploymentsPageSizeMax: 100,
  /** RPC requests of a playground in a calendar month (contract 6.3). */
  playgroundRpcRequests: 500_000,
} as const
