import { defineComponent, h, onMounted, ref } from 'vue'

/** A button that switches between the light and the dark theme. The console uses the same key in localStorage, so both have the same theme. */
export const ThemeSwitch = defineComponent(() => {
  const isDark = ref(false)
  onMounted(() => (isDark.value = document.documentElement.dataset['theme'] === 'dark'))
  const toggle = () => {
    isDark.value = !isDark.value
    document.documentElement.classList.toggle('dark', isDark.value)
    if (isDark.value) document.documentElement.dataset['theme'] = 'dark'
    else delete document.documentElement.dataset['theme']
    localStorage.setItem('theme', isDark.value ? 'dark' : 'light')
  }
  const sun =
    'M12 3v2m0 14v2m9-9h-2M5 12H3m15.4-6.4L17 7M7 17l-1.4 1.4m12.8 0L17 17M7 7 5.6 5.6M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Z'
  const moon = 'M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5Z'
  return () => {
    const label = isDark.value ? 'Light theme' : 'Dark theme'
    return h('button', { type: 'button', class: 'theme-switch', title: label, 'aria-label': label, onClick: toggle }, [
      h('svg', { viewBox: '0 0 24 24', width: 18, height: 18, 'aria-hidden': 'true' }, [
        h('path', {
          d: isDark.value ? sun : moon,
          fill: 'none',
          stroke: 'currentColor',
          'stroke-width': 1.75,
          'stroke-linecap': 'round',
          'stroke-linejoin': 'round',
        }),
      ]),
    ])
  }
})
