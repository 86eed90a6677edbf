import { gzipSync } from 'node:zlib'

/** Packs a `.tar.gz` like the public client: without a top-level folder. */
export function archiveOf(files: Record<string, string>): Buffer {
  const entries = Object.entries(files).flatMap(([name, content]) => {
    const body = Buffer.from(content)
    return [header(name, body.length), body, Buffer.alloc((512 - (body.length % 512)) % 512)]
  })
  return gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]))
}

/** A multipart body with the archive as its part `file`. */
export function multipartOf(archive: Buffer): { payload: Buffer; contentType: string } {
  const boundary = '----shoal-test'
  const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="squid.tar.gz"\r\ncontent-type: application/gzip\r\n\r\n`
  return {
    payload: Buffer.concat([Buffer.from(head), archive, Buffer.from(`\r\n--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  }
}

function header(name: string, size: number): Buffer {
  const block = Buffer.alloc(512)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  block.write(name, 0)
  block.write(octal(0o644, 8), 100)
  block.write(octal(0, 8), 108)
  block.write(octal(0, 8), 116)
  block.write(octal(size, 12), 124)
  block.write(octal(1_700_000_000, 12), 136)
  block.write('        ', 148)
  block.write('0', 156)
  block.write('ustar\x0000', 257)
  block.write(
    octal(
      block.reduce((sum, byte) => sum + byte, 0),
      7,
    ),
    148,
  )
  return block
}
