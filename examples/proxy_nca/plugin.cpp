#include <seam/plugin.hpp>

#include "proxy_nca.hpp"

SEAM_PLUGIN(ProxyNca)
