/**
 * A Bloom filter, with one hash, of the short substrings ("grams") in a block of lines. A block can contain a term only if it
 * contains every gram of it. Grams of up to three characters serve short terms; grams of five distinguish numbers and hashes,
 * whose triples soon all occur in logs.
 */
const gramSizes = [1, 2, 3, 5] as const

const maxBits = 2 ** 19
const minBits = 2 ** 12
/** A filter is folded in half while at most this share of its bits is set, which keeps false positives rare. */
const maxFillRatio = 0.2

/** Maximum number of grams per query: further ones hardly exclude more blocks. */
const queryGrams = 8

/** Applied to both sides of every comparison. */
export const caseFolded = (text: string): string => text.toLowerCase()

/** Calls `onGram` with a well mixed 32-bit hash for each gram of the folded text. */
function eachGram(text: string, size: number, onGram: (hash: number) => void): void {
  for (let at = 0; at + size <= text.length; at++) {
    let hash = size
    for (let i = at; i < at + size; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
    hash = Math.imul(hash ^ (hash >>> 13), 0x297a2d39)
    onGram((hash ^ (hash >>> 16)) >>> 0)
  }
}

/** A filter of the texts of one block. Its size in bits is a power of two. */
export function bloomOf(texts: string[]): Buffer {
  const bits = Buffer.alloc(maxBits / 8)
  const mask = maxBits - 1
  for (const text of texts) {
    const plain = caseFolded(text)
    for (const size of gramSizes)
      eachGram(plain, size, (hash) => {
        const bit = hash & mask
        bits[bit >> 3] = (bits[bit >> 3] ?? 0) | (1 << (bit & 7))
      })
  }
  return halveFilter(bits)
}

/** Halves a filter by combining its halves with OR, which works because the hash is cut to the size. */
function halveFilter(bits: Buffer): Buffer {
  let now = bits
  while (now.length * 8 > minBits) {
    const half = Buffer.from(now.subarray(0, now.length / 2))
    for (let i = 0; i < half.length; i++) half[i] = (half[i] ?? 0) | (now[half.length + i] ?? 0)
    if (setBits(half) > half.length * 8 * maxFillRatio) break
    now = half
  }
  return now
}

function setBits(bits: Buffer): number {
  let count = 0
  for (let byte of bits) for (; byte !== 0; byte &= byte - 1) count++
  return count
}

/** Hashes of a term's grams, of the largest fitting size. Empty when the term is too short for the filter. */
export function hashesOfTerm(term: string): number[] {
  const plain = caseFolded(term)
  const size = gramSizes.findLast((size) => size <= plain.length)
  if (size === undefined) return []
  const hashes: number[] = []
  eachGram(plain, size, (hash) => hashes.push(hash))
  const step = Math.max(1, Math.ceil(hashes.length / queryGrams))
  const spread = hashes.filter((_, i) => i % step === 0 || i === hashes.length - 1)
  return [...new Set(spread)]
}

/** Whether the filter's block may contain the gram; `block-store.ts` evaluates the same in SQL. */
export function mightContain(bloom: Buffer, hash: number): boolean {
  const bit = hash & (bloom.length * 8 - 1)
  return ((bloom[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0
}
