import { rpcChainTypes } from '@shoal/contract'
import { isNode, LineCounter, parseDocument, type Document } from 'yaml'
import { z } from 'zod'
import { readFileOfSetting, InvalidSettingError } from '../../config/invalid-setting.ts'

const Upstream = z.strictObject({
  /** Shown instead of the URL. */
  name: z
    .string()
    .regex(/^[\w .-]{1,40}$/, 'up to 40 letters, digits, spaces, dots, dashes and underscores')
    .optional(),
  url: z.url({ protocol: /^https?$/, error: 'an http or https address' }),
  headers: z.record(z.string(), z.string()).default({}),
  /** Maximum number of requests per second; unlimited by default. */
  rate: z.number().positive().optional(),
  /** Upstreams with a lower number are used first. */
  priority: z.number().int().min(0).default(0),
  /** Whether the upstream has the state of old blocks. */
  archive: z.boolean().default(false),
  /** Maximum number of calls in one batch. */
  batch: z.number().int().min(1).max(1000).default(100),
})
export type UpstreamSettings = z.output<typeof Upstream> & { name: string }

const ChainSettings = z.strictObject({
  type: z.enum(rpcChainTypes).optional(),
  title: z.string().min(1).max(60).optional(),
  testnet: z.boolean().optional(),
  iconUrl: z.url().optional(),
  chainId: z.number().int().positive().optional(),
  /** The distance between the head and the newest final block, in blocks, if nodes do not report finality. */
  finality: z.number().int().min(0).optional(),
  /** Interval of head checks, in milliseconds. */
  headPollMs: z.number().int().min(50).max(60_000).optional(),
  upstreams: z.array(Upstream).min(1, 'at least one upstream').optional(),
})
export type ChainSettings = z.output<typeof ChainSettings>

const RpcConfig = z.strictObject({
  chains: z.record(
    z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'lower case letters, digits and dashes'),
    ChainSettings,
  ),
})

/**
 * Reads the chains of SHOAL_RPC_CONFIG, which is YAML (JSON is YAML too).
 * @throws InvalidSettingError with the file, line and field of every error
 */
export function readRpcConfig(file: string): Record<string, ChainSettings> {
  const lines = new LineCounter()
  const document = parseDocument(readFileOfSetting('SHOAL_RPC_CONFIG', file), { lineCounter: lines })
  const syntaxErrors = document.errors.map(
    (e) => `${file}:${lines.linePos(e.pos[0]).line}: ${e.message.split('\n')[0]}`,
  )
  if (syntaxErrors.length > 0) throw invalidConfig(syntaxErrors)
  const parsed = RpcConfig.safeParse(document.toJS())
  if (parsed.success) return parsed.data.chains
  throw invalidConfig(
    parsed.error.issues.map((issue) => {
      const keys = issue.code === 'unrecognized_keys' ? issue.keys : []
      const line = lineOf(document, lines, [...issue.path, ...keys.slice(0, 1)])
      return `${file}:${line}: ${issue.path.join('.') || 'the file'}: ${issue.message}`
    }),
  )
}

const invalidConfig = (problems: string[]) =>
  new InvalidSettingError(`The RPC configuration is not valid:\n  ${problems.join('\n  ')}`)

/** Returns the line of the field, or of its nearest parent if the field is missing. */
function lineOf(document: Document, lines: LineCounter, path: PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const node: unknown = document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  }
  return 1
}
