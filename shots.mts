const W = '/work/team/rpcws'
const { startShoal } = await import(`${W}/e2e/support/shoal.ts`)
const { openBrowser, switchTheme, seriousFlaws } = await import(`${W}/e2e/support/browser.ts`)
const { personAs } = await import(`${W}/e2e/support/people.ts`)
const t0 = performance.now()
const at = (s: string) => console.log(s, Math.round(performance.now() - t0))
const shoal = await startShoal({ SHOAL_RUNTIME: 'sim' })
at('shoal')
const browser = await openBrowser()
try {
  const p = await personAs(browser, shoal, 'admin@harbour.dev')
  at('person')
  await p.api.orgs.create({ body: { code: 'harbour', name: 'Harbour Analytics', email: 'admin@harbour.dev' } })
  const { page } = p
  for (const chain of ['eth', 'polkadot']) {
    await page.goto(`/rpc/chains/${chain}?organization=harbour`)
    await page.getByText('WebSocket', { exact: true }).first().waitFor({ timeout: 60000 })
    await page.getByRole('tab').first().waitFor({ timeout: 60000 })
    if (chain === 'eth') {
      await page.getByRole('tab', { name: 'viem WebSocket' }).click()
    }
    for (const theme of ['light', 'dark']) {
      await switchTheme(page, theme)
      for (const width of [1440, 1024, 390]) {
        await page.setViewportSize({ width, height: 900 })
        await page.screenshot({ path: `/tmp/rw/${chain}-${theme}-${width}.png` })
        const over = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        console.log(chain, theme, width, 'overflow', over)
      }
      console.log(await seriousFlaws(page))
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.screenshot({ path: `/tmp/rw/${chain}-full.png`, fullPage: true })
    await page.getByRole('button', { name: 'Copy WebSocket endpoint', exact: true }).click()
    console.log(String(await page.evaluate('navigator.clipboard.readText()')).replace(/shoal_rpc_.*/, 'TOKEN'))
  }
  at('shots')
} finally {
  await browser.close()
  await shoal.end()
  at('end')
  process.exit(0)
}
