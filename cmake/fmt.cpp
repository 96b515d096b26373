// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// fmt, compiled in. Debian ships it as a shared library, which brings the shared libstdc++ into
// every process: 1.8 MB resident, where a tenth of that is used. In this file are the templates
// that fmt/format.h declares to be instantiated elsewhere.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref loc) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref loc) -> char;
template void buffer<char>::append(const char* begin, const char* end);
template void vformat_to(buffer<char>& out, string_view format, format_args args, locale_ref loc);

}  // namespace detail
FMT_END_NAMESPACE
