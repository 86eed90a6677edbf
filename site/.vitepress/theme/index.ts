import { defineComponent, h } from 'vue'
import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme-without-fonts'
import './style.css'
import { showOwnAddress } from './own-address.ts'
import { ThemeSwitch } from './ThemeSwitch.ts'

export default {
  extends: DefaultTheme,
  Layout: defineComponent(() => () => h(DefaultTheme.Layout, null, { 'nav-bar-content-after': () => h(ThemeSwitch) })),
  enhanceApp({ router }) {
    showOwnAddress(router)
  },
} satisfies Theme
