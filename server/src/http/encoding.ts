import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Encodings that Shoal sends, best first. */
const encodings = ['br', 'gzip'] as const
export type Encoding = (typeof encodings)[number]

const accepts = (header: string | string[] | undefined, encoding: string): boolean =>
  String(header ?? '')
    .split(',')
    .some((item) => item.split(';')[0]?.trim() === encoding && !/;\s*q=0(?:\.0*)?\s*$/.test(item))

/** Returns the best encoding that an `Accept-Encoding` header allows; undefined if it allows none. */
export const encodingOf = (header: string | string[] | undefined): Encoding | undefined =>
  encodings.find((name) => accepts(header, name))

const compressors = {
  br: (text: string, quality: number) =>
    promisify(brotliCompress)(text, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: quality,
        [constants.BROTLI_PARAM_SIZE_HINT]: Buffer.byteLength(text),
      },
    }),
  gzip: (text: string, quality: number) => promisify(gzip)(text, { level: quality }),
}

/** Compresses a text in another thread. `quality`: from 1 (fast) to 9 (small). */
export const compress = (encoding: Encoding, text: string, quality: number): Promise<Buffer> =>
  compressors[encoding](text, quality)

/** Whether an `If-None-Match` header contains the ETag `tag`. Proxies that compress responses mark ETags as weak, with `W/`. */
export const hasEtag = (header: string | undefined, tag: string): boolean =>
  header?.split(',').some((known) => known.trim().replace(/^W\//, '') === tag) ?? false
