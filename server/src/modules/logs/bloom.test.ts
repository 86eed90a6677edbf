import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bloomOf, foldCase, hashesOfTerm, mightContain } from './bloom.ts'

const mayContainTerm = (bloom: Buffer, term: string) => hashesOfTerm(term).every((hash) => mightContain(bloom, hash))

describe('a Bloom filter of lines', () => {
  test('has no false negatives, regardless of case', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }), {
      minLength: 1,
      maxLength: 20,
    })
    fc.assert(
      fc.property(texts, fc.nat(), fc.nat(), fc.nat(), (lines, lineIndex, from, length) => {
        const line = foldCase(lines[lineIndex % lines.length] ?? '')
        const start = from % line.length
        const term = line.slice(start, start + 1 + (length % 30))
        const bloom = bloomOf(lines)
        expect(mayContainTerm(bloom, term)).toBe(true)
        const upperCased = term.toUpperCase()
        // Converting some letters to upper case and back changes them.
        expect(foldCase(upperCased) !== term || mayContainTerm(bloom, upperCased)).toBe(true)
      }),
    )
  })

  test('excludes nearly all numbers and hashes that no line contains', () => {
    const digits = (n: number) => String((n * 2_654_435_761) % 100_000_000).padStart(8, '0')
    const lines = Array.from({ length: 1000 }, (_, i) => `block ${digits(i)} of 0x${digits(i * 7)}${digits(i * 13)}`)
    const absent = Array.from({ length: 500 }, (_, i) => digits(i + 50_000)).filter(
      (term) => !lines.some((line) => line.includes(term)),
    )
    const bloom = bloomOf(lines)
    expect(absent.filter((term) => mayContainTerm(bloom, term)).length).toBeLessThan(absent.length / 20)
  })

  test('is small for few lines, and an empty term has no hashes to check', () => {
    expect(bloomOf(['short'])).toHaveLength(512)
    expect(hashesOfTerm('')).toEqual([])
  })
})
