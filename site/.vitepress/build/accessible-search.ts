const searchBox = '/theme-default/components/VPLocalSearchBox.vue'

/** Parts of the template of the search dialog, each with its replacement. */
const replacements = [
  // VitePress gives the dialog the role of a button, whose name would then be the whole content of the dialog.
  [
    `role="button"
      :aria-owns="results?.length ? 'localsearch-list' : undefined"
      aria-expanded="true"
      aria-haspopup="listbox"
      aria-labelledby="localsearch-label"`,
    'role="dialog" aria-modal="true" :aria-label="buttonText"',
  ],
  // An option may not contain a link, so the link itself is the option.
  [
    `:id="'localsearch-item-' + index"
            :aria-selected="selectedIndex === index ? 'true' : 'false'"
            role="option"`,
    'role="none"',
  ],
  [
    ':href="p.id"',
    `:href="p.id" role="option" :id="'localsearch-item-' + index" :aria-selected="selectedIndex === index ? 'true' : 'false'"`,
  ],
  // Without a label, the name of an option is its text.
  [`:aria-label="[...p.titles, p.title].join(' > ')"`, ''],
  ['<span class="title-icon">', '<span class="title-icon" aria-hidden="true">'],
  // An element without a role may not have a name.
  ...['navigateUpKey', 'navigateDownKey', 'selectKey', 'closeKey'].map((key) => {
    const label = `<kbd :aria-label="translate('modal.footer.${key}AriaLabel')">`
    return [label, label.replace('<kbd', '<kbd role="img"')] as const
  }),
] as const

/**
 * A plugin that corrects the roles in the search dialog of VitePress. It fails the build if VitePress has changed the dialog, so that a
 * developer reviews the corrections.
 */
export const accessibleSearch = () => ({
  name: 'accessible-search',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    if (!id.endsWith(searchBox)) return null
    return replacements.reduce((text, [before, after]) => {
      if (text.split(before).length !== 2) throw new Error(`VitePress has changed its search dialog: ${before}`)
      return text.replace(before, () => after)
    }, code)
  },
})
