import type { LogLine } from '@shoal/runtime'
import type { NewLine } from './ingest-store.ts'
import { quotaBytes } from './limiter.ts'

/** Returns the bytes that were counted for these lines when they were admitted, as the program wrote them. */
export const writtenBytes = (lines: LogLine[]): number =>
  quotaBytes(
    lines.length,
    lines.reduce((bytes, { text }) => bytes + Buffer.byteLength(text), 0),
  )

/** Returns the bytes to count for stored lines: invalid UTF-8 and JSON can need more bytes than the program wrote. */
export const storedBytes = (lines: NewLine[]): number =>
  quotaBytes(
    lines.length,
    lines.reduce(
      (bytes, { ns, message, fields }) =>
        bytes + [ns, message, fields].reduce((sum, part) => sum + byteLength(part), 0),
      0,
    ),
  )

const byteLength = (text: string | null): number => (text === null ? 0 : Buffer.byteLength(text))
