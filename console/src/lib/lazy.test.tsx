import { Suspense } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { lazyPart } from './lazy.tsx'

const show = (Part: ReturnType<typeof makePart>) =>
  renderToStaticMarkup(
    <Suspense fallback="placeholder">
      <Part />
    </Suspense>,
  )
const makePart = (load = () => Promise.resolve({ default: () => 'content' })) => lazyPart(load)

test('a part shows a placeholder until its code has loaded', () => {
  expect(show(makePart())).toContain('placeholder')
})

test('a part whose code has been preloaded renders immediately', async () => {
  const Part = makePart()
  await Part.preload()
  expect(show(Part)).toBe('content')
})

test('loading a part reports a failure, unlike preloading it', async () => {
  let failures = 1
  const Part = makePart(() =>
    failures-- > 0 ? Promise.reject(new Error('no network')) : Promise.resolve({ default: () => 'content' }),
  )
  await expect(Part.load()).rejects.toThrow('no network')
  await Part.load()
  expect(show(Part)).toBe('content')
})

test('after a failed preload, the code is loaded again', async () => {
  let failures = 1
  const Part = makePart(() =>
    failures-- > 0 ? Promise.reject(new Error('no network')) : Promise.resolve({ default: () => 'content' }),
  )
  await Part.preload()
  expect(show(Part)).toContain('placeholder')
  await Part.preload()
  expect(show(Part)).toBe('content')
})
